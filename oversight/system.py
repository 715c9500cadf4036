"""The page of the system."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.views.request import DeskRequest, viewer_of
from kernel.scope import tenant_transaction
from oversight.examination import findings
from oversight.pages.system import system_view
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page


@member_page(roles=ADMINISTRATORS)
@require_safe
def system(request: DeskRequest) -> HttpResponse:
    """GET system: how the installation is, and what waits in it."""
    viewer, found = viewer_of(request), findings()
    with tenant_transaction(request.member.tenant_id):
        view = system_view(request.member.slug, found)
        shell = frame(request.user, viewer, read_index(viewer), place="system")
    return render(request, "oversight/system.html", {"shell": shell, "system": view})
