"""The pages of the system: how it is, and whether it can be relied on."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from approvals.views.request import DeskRequest
from oversight.examination import findings
from oversight.pages.readiness import readiness_view
from oversight.pages.system import system_view
from oversight.showing import page
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page


@member_page(roles=ADMINISTRATORS)
@require_safe
def system(request: DeskRequest) -> HttpResponse:
    """GET system: how the installation is, and what waits in it."""
    found = findings()  # before the scope opens: it may take its time
    return page(
        request,
        "system.html",
        lambda _: {"system": system_view(request.member.slug, found)},
        place="system",
    )


@member_page(roles=ADMINISTRATORS)
@require_safe
def readiness(request: DeskRequest) -> HttpResponse:
    """GET readiness: what the tenant and its installation lack for production."""
    found = findings()  # before the scope opens: it may take its time
    return page(
        request,
        "readiness.html",
        lambda _: {"ready": readiness_view(request.member, found)},
        place="system",
    )
