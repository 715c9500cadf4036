"""The page of insights."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.views.request import DeskRequest, viewer_of
from kernel.scope import tenant_transaction
from oversight.pages.insights.page import insights_view
from tenants.access import OVERSEERS
from tenants.pages import member_page


@member_page(roles=OVERSEERS)
@require_safe
def insights(request: DeskRequest) -> HttpResponse:
    """GET insights[?days=…&queue=…]: how approving went."""
    viewer = viewer_of(request)
    with tenant_transaction(request.member.tenant_id):
        view = insights_view(request.member, request.GET)
        shell = frame(request.user, viewer, read_index(viewer), place="insights")
    return render(
        request, "oversight/insights.html", {"shell": shell, "insights": view}
    )
