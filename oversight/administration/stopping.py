"""The stop switch: what it would reach first, and then a reason."""

from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.forms import Flawed
from approvals.services.stopping import Target, start_again, stop
from approvals.views.request import DeskRequest, missing_is_404
from kernel.problems import NOT_FOUND, Problem
from oversight.administration.answering import (
    LOOKING,
    acting,
    again,
    said,
    seen,
    status_of,
)
from oversight.forms import StopForm
from oversight.pages.stopping import stop_view
from oversight.presentation.forms import Form
from oversight.showing import page
from tenants.access import ADMINISTRATORS, OWNERS
from tenants.pages import member_page

VERBS = {"stop": stop, "start": start_again}


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def agent(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET agents/{id}/stop: what it would reach. POST: stop it, or start it again."""
    return _answer(request, Target(agent_id=id), "agent_stop", id)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def tool(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET tools/{id}/stop: what it would reach. POST: stop it, or start it again."""
    return _answer(request, Target(tool_id=id), "tool_stop", id)


@member_page(roles=OWNERS)
@require_http_methods(LOOKING)
def tenant(request: DeskRequest) -> HttpResponse:
    """GET stop: what stopping everything would reach. POST: do it, or start again."""
    return _answer(request, Target(), "tenant_stop")


def _answer(
    request: DeskRequest, target: Target, place: str, id: UUID | None = None
) -> HttpResponse:
    if request.method != "POST":
        return _show(request, target)
    try:
        with missing_is_404():
            _turn(request, target)
    except (Problem, Flawed) as error:
        form = again("", request.POST, error)
        return _show(request, target, form, status=status_of(error))
    return seen(request, place, id)


def _turn(request: DeskRequest, target: Target) -> None:
    verb = VERBS.get(request.POST.get("act", ""))
    if verb is None:
        raise NOT_FOUND()
    reason = said(StopForm(request.POST))["reason"]
    verb(**acting(request), target=target, reason=reason)


def _show(
    request: DeskRequest, target: Target, form: Form | None = None, status: int = 200
) -> HttpResponse:
    return page(
        request,
        "stop.html",
        lambda _: {"stop": stop_view(request.member, target, form)},
        place="tools" if target.tool_id else "agents",
        status=status,
    )
