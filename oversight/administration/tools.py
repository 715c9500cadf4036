"""What agents can ask for, as it is registered."""

from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from approvals.views.request import DeskRequest
from oversight.pages.tools import tool_view, tools_view
from oversight.showing import page
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page


@member_page(roles=ADMINISTRATORS)
@require_safe
def tools(request: DeskRequest) -> HttpResponse:
    """GET tools: all of them, by name."""
    slug, after = request.member.slug, request.GET.get("after", "")
    return page(
        request,
        "tools.html",
        lambda _: {"tools": tools_view(slug, after)},
        place="tools",
    )


@member_page(roles=ADMINISTRATORS)
@require_safe
def tool(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET tools/{id}: its definition, and the way to its switch."""
    slug = request.member.slug
    return page(
        request, "tool.html", lambda _: {"tool": tool_view(slug, id)}, place="tools"
    )
