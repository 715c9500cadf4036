"""The page of insights."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from approvals.views.request import DeskRequest
from oversight.pages.insights.page import insights_view
from oversight.showing import page
from tenants.access import OVERSEERS
from tenants.pages import member_page


@member_page(roles=OVERSEERS)
@require_safe
def insights(request: DeskRequest) -> HttpResponse:
    """GET insights[?days=…&queue=…]: how approving went."""
    return page(
        request,
        "insights.html",
        lambda _: {"insights": insights_view(request.member, request.GET)},
        place="insights",
    )
