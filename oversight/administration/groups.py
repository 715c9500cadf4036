"""Groups: people who are given rights on a queue together."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.forms import Flawed
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
from oversight.forms import GroupForm, MemberForm
from oversight.pages.groups import group_view, groups_view
from oversight.presentation.forms import Form
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page
from tenants.services import add_to_group, create_group, remove_from_group


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def groups(request: DeskRequest) -> HttpResponse:
    """GET groups: all of them. POST: create one, and go to it."""
    if request.method != "POST":
        return _show_all(request)
    try:
        made = create_group(**acting(request), **said(GroupForm(request.POST)))
    except (Problem, Flawed) as error:
        form = again("create", request.POST, error)
        return _show_all(request, form, status=status_of(error))
    return seen(request, "group", made.id)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def group(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET groups/{id}. POST: one of `ACTS`."""
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
    return seen(request, "group", id)


def _add(request: DeskRequest, id: UUID) -> None:
    member = said(MemberForm(request.POST))["member"]
    add_to_group(**acting(request), group_id=id, member_id=member)


def _remove(request: DeskRequest, id: UUID) -> None:
    member = chosen(MemberForm(request.POST))["member"]
    remove_from_group(**acting(request), group_id=id, member_id=member)


ACTS: Final[Mapping[str, Act]] = {"add": _add, "remove": _remove}


def _show_all(
    request: DeskRequest, form: Form | None = None, status: int = 200
) -> HttpResponse:
    after = request.GET.get("after", "")
    return page(
        request,
        "groups.html",
        lambda: {"groups": groups_view(request.member, after, form)},
        place="people",
        status=status,
    )


def _show(
    request: DeskRequest, id: UUID, *, status: int = 200, **shown: Any
) -> HttpResponse:
    return page(
        request,
        "group.html",
        lambda: {"group": group_view(request.member, id, **shown)},
        place="people",
        status=status,
    )
