"""Queues, and who may see, decide, edit and record there."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.forms import Flawed
from approvals.services.nudging import set_nudges
from approvals.services.queues import (
    create_queue,
    give_right,
    make_default,
    take_right,
)
from approvals.views.request import DeskRequest
from kernel.problems import Problem
from oversight.administration.answering import (
    LOOKING,
    Act,
    acted,
    acting,
    chosen,
    created,
    said,
)
from oversight.forms import GiftForm, NudgesForm, QueueForm, RightForm
from oversight.pages.queues import queue_view, queues_view
from oversight.showing import page
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def queues(request: DeskRequest) -> HttpResponse:
    """GET queues: all of them. POST: create one, and go to it."""
    return created(request, _show_all, _create, act="create", there="queue_rights")


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def queue(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET queues/{id}. POST: one of `ACTS`."""
    return acted(request, id, partial(_show, id=id), ACTS, "queue_rights")


def _create(request: DeskRequest) -> UUID:
    return create_queue(**acting(request), **said(QueueForm(request.POST))).id


def _give(request: DeskRequest, id: UUID) -> None:
    """One verb and one entry for each right: those before one that is refused stay."""
    given = said(GiftForm(request.POST))
    for right in given["rights"]:
        holder = _holder(given["holder"])
        give_right(**acting(request), queue_id=id, right=right, **holder)


def _take(request: DeskRequest, id: UUID) -> None:
    given = chosen(RightForm(request.POST))
    holder = _holder(given["holder"])
    take_right(**acting(request), queue_id=id, right=given["right"], **holder)


def _default(request: DeskRequest, id: UUID) -> None:
    make_default(**acting(request), queue_id=id)


def _holder(text: str) -> dict[str, UUID]:
    """'group:…' or 'member:…', as the form has made sure, for a verb."""
    kind, _, id = text.partition(":")
    return {f"{kind}_id": UUID(id)}


def _nudges(request: DeskRequest, id: UUID) -> None:
    given = said(NudgesForm(request.POST))
    kind, _, target = given["to"].partition(":")
    names = {"group": "group_id", "queue": "to_queue_id"}
    to: dict[str, Any] = {names[kind]: UUID(target)} if target else {}
    seconds = {
        f"{name}_after": given[name] and given[name] * 60
        for name in ("remind", "escalate")
    }
    try:
        set_nudges(**acting(request), queue_id=id, **seconds, **to)
    except Problem as problem:
        if problem.code != "nudge_invalid":
            raise
        raise Flawed({BESIDE.get(problem.pointer or "", ""): problem.detail}) from None


BESIDE: Final = {
    "/remind_after": "remind",
    "/escalate_after": "escalate",
    "/escalate_to": "to",
}
ACTS: Final[Mapping[str, Act]] = {
    "give": _give,
    "take": _take,
    "default": _default,
    "nudges": _nudges,
}


def _show_all(request: DeskRequest, *, status: int = 200, **shown: Any) -> HttpResponse:
    after = request.GET.get("after", "")
    return page(
        request,
        "queues.html",
        lambda _: {"queues": queues_view(request.member, after, **shown)},
        place="queues",
        status=status,
    )


def _show(
    request: DeskRequest, *, id: UUID, status: int = 200, **shown: Any
) -> HttpResponse:
    return page(
        request,
        "queue.html",
        lambda _: {"queue": queue_view(request.member, id, **shown)},
        place="queues",
        status=status,
    )
