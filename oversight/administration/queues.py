"""Queues, and who may see, decide, edit and record there."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.forms import Flawed
from approvals.services.queues import (
    create_queue,
    give_right,
    make_default,
    take_right,
)
from approvals.views.request import DeskRequest, missing_is_404
from kernel.problems import NOT_FOUND, Problem
from oversight.administration.answering import (
    LOOKING,
    Act,
    acting,
    again,
    chosen,
    page,
    said,
    seen,
    status_of,
    told,
)
from oversight.forms import GiftForm, QueueForm, RightForm
from oversight.pages.queues import queue_view, queues_view
from oversight.presentation.forms import Form
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def queues(request: DeskRequest) -> HttpResponse:
    """GET queues: all of them. POST: create one, and go to it."""
    if request.method != "POST":
        return _show_all(request)
    try:
        made = create_queue(**acting(request), **said(QueueForm(request.POST)))
    except (Problem, Flawed) as error:
        form = again("create", request.POST, error)
        return _show_all(request, form, status=status_of(error))
    return seen(request, "queue_rights", made.id)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def queue(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET queues/{id}. POST: one of `ACTS`."""
    if request.method != "POST":
        return _show(request, id)
    act = request.POST.get("act", "")
    try:
        with missing_is_404():
            if act not in ACTS:
                raise NOT_FOUND()
            ACTS[act](request, id)
    except Problem as problem:
        return _show(request, id, notice=told(problem), status=problem.status)
    except Flawed as error:
        return _show(request, id, form=again(act, request.POST, error), status=422)
    return seen(request, "queue_rights", id)


def _give(request: DeskRequest, id: UUID) -> None:
    """One verb, and one entry, for each right."""
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


ACTS: Final[Mapping[str, Act]] = {"give": _give, "take": _take, "default": _default}


def _show_all(
    request: DeskRequest, form: Form | None = None, status: int = 200
) -> HttpResponse:
    after = request.GET.get("after", "")
    return page(
        request,
        "queues.html",
        lambda: {"queues": queues_view(request.member, after, form)},
        place="queues",
        status=status,
    )


def _show(
    request: DeskRequest, id: UUID, *, status: int = 200, **shown: Any
) -> HttpResponse:
    return page(
        request,
        "queue.html",
        lambda: {"queue": queue_view(request.member, id, **shown)},
        place="queues",
        status=status,
    )
