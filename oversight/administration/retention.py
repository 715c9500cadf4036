"""For how long things are kept, and what is held, of all the tenant."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.forms import Flawed
from approvals.views.request import DeskRequest, missing_is_404
from kernel.problems import NOT_FOUND, Problem
from oversight.administration.answering import (
    LOOKING,
    acting,
    again,
    lifted,
    said,
    seen,
    status_of,
    told,
)
from oversight.forms import HoldForm, LiftForm, TermForm
from oversight.pages.retention import retention_view
from oversight.showing import page
from sessions.services.retention import lift_hold, place_hold, set_retention
from tenants.access import OVERSEERS
from tenants.pages import member_page


@member_page(roles=OVERSEERS)
@require_http_methods(LOOKING)
def retention(request: DeskRequest) -> HttpResponse:
    """GET retention: terms and holds. POST: one of `ACTS`, for who administers."""
    if request.method != "POST":
        return _show(request)
    act = request.POST.get("act", "")
    try:
        with missing_is_404():
            if act not in ACTS:
                raise NOT_FOUND()
            ACTS[act](request)
    except Flawed as error:
        return _show(request, form=again(act, request.POST, error), status=422)
    except Problem as problem:
        return _show(request, notice=told(problem), status=status_of(problem))
    return seen(request, "retention")


def _term(request: DeskRequest) -> None:
    set_retention(**acting(request), **said(TermForm(request.POST)))


def _hold(request: DeskRequest) -> None:
    place_hold(**acting(request), **said(HoldForm(request.POST)))


def _lift(request: DeskRequest) -> None:
    lift_hold(**acting(request), **lifted(LiftForm(request.POST)))


ACTS: Final[Mapping[str, Callable[[DeskRequest], None]]] = {
    "term": _term,
    "hold": _hold,
    "lift": _lift,
}


def _show(request: DeskRequest, *, status: int = 200, **shown: Any) -> HttpResponse:
    return page(
        request,
        "retention.html",
        lambda _: {"retention": retention_view(request.member, **shown)},
        place="audit",
        status=status,
    )
