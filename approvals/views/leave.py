"""One's own leave in a tenant: who is asked instead, and from when until when."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from approvals.forms import Flawed, LeaveForm
from approvals.pages.addresses import address
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.pages.leave import as_typed, leave_view
from approvals.services.delegations import (
    Leave,
    change_delegation,
    end_delegation,
    make_delegation,
)
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import NOT_FOUND, Problem
from kernel.scope import tenant_transaction
from tenants.access import NOT_PERMITTED
from tenants.pages import member_page


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def leave(request: DeskRequest) -> HttpResponse:
    """GET leave: what there is, and a form. POST: one of `LEAVE_ACTS`."""
    if request.method != "POST":
        return _show(request)
    act = request.POST.get("act", "")
    try:
        with missing_is_404():
            if act not in LEAVE_ACTS:
                raise NOT_FOUND()
            LEAVE_ACTS[act](request, request.member.member_id)
    except Flawed as flawed:
        return _show(request, flawed.errors, status=422)
    except Problem as problem:
        if problem.code != NOT_PERMITTED.code:
            raise
        raise Http404 from problem  # somebody else's: not there for them
    return HttpResponseRedirect(address("leave", request.member.slug), status=303)


def _show(
    request: DeskRequest, errors: Mapping[str, str] | None = None, status: int = 200
) -> HttpResponse:
    viewer = viewer_of(request)
    with tenant_transaction(request.member.tenant_id):
        typed = None
        if errors is not None:
            queues = request.POST.getlist("queues")
            posted = {name: request.POST.get(name, "") for name in request.POST}
            typed = as_typed(viewer.member, posted, queues, errors)
        context = {
            "shell": frame(request.user, viewer, read_index(viewer), place="leave"),
            "leave": leave_view(
                viewer.member,
                here=address("leave", viewer.slug),
                mine=True,
                typed=typed,
            ),
        }
    return render(request, "approvals/leave.html", context, status=status)


def _make(request: DeskRequest, member_id: UUID) -> None:
    _beside_fields(make_delegation, request, leave=_typed(request, member_id))


def _change(request: DeskRequest, member_id: UUID) -> None:
    _beside_fields(
        change_delegation,
        request,
        delegation_id=_id(request),
        leave=_typed(request, member_id),
    )


def _end(request: DeskRequest, member_id: UUID) -> None:
    _beside_fields(end_delegation, request, delegation_id=_id(request))


LEAVE_ACTS: Final[Mapping[str, Callable[[DeskRequest, UUID], None]]] = {
    "away": _make,
    "change_away": _change,
    "end_away": _end,
}
"""What is posted of a member's leave, by themself or by an administrator.

Each raises `Flawed` with what is wrong, and `Problem`.
"""


def _beside_fields(
    verb: Callable[..., object], request: DeskRequest, **of: Any
) -> None:
    """What the verb finds wrong stands beside the field that it is about."""
    acting = {"tenant_id": request.member.tenant_id, "by": request.member.member_id}
    try:
        verb(**acting, **of)
    except Problem as problem:
        if problem.code != "delegation_invalid":
            raise
        field = FIELDS.get(problem.pointer or "", "")
        raise Flawed({field: problem.detail}) from problem


FIELDS: Final[Mapping[str, str]] = {
    "/delegate": "delegate",
    "/until": "last_day",
    "/queues": "queues",
    "/note": "note",
}


def _id(request: DeskRequest) -> UUID:
    try:
        return UUID(request.POST.get("delegation", ""))
    except ValueError:
        raise NOT_FOUND() from None


def _typed(request: DeskRequest, member_id: UUID) -> Leave:
    """Whole days of UTC, from the first until the end of the last."""
    form = LeaveForm(request.POST)
    if not form.is_valid():
        raise Flawed({name: str(errors[0]) for name, errors in form.errors.items()})
    said = form.cleaned_data
    return Leave(
        delegator_id=member_id,
        delegate_id=said["delegate"],
        starts_at=_midnight(said["first_day"]),
        ends_at=_midnight(said["last_day"]) + timedelta(days=1),
        queues=_queues(request),
        note=said["note"],
    )


def _queues(request: DeskRequest) -> list[UUID]:
    try:
        return [UUID(one) for one in request.POST.getlist("queues")]
    except ValueError:
        raise NOT_FOUND() from None


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
