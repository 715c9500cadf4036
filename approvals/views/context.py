"""What the model sees, for reviewers."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.pages.context import context_page
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.pages.selection import Selection
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.scope import tenant_transaction
from tenants.pages import member_page


@member_page
@require_safe
def show_context(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET requests/{id}/context: the same as its agent reads. 404 for strangers."""
    with missing_is_404(), tenant_transaction(request.member.tenant_id, snapshot=True):
        viewer = viewer_of(request)
        page = context_page(viewer, id, Selection.read(request.GET))
        shell = frame(request.user, viewer, read_index(viewer), place="queue")
    return render(request, "approvals/context.html", {"page": page, "shell": shell})
