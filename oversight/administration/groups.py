"""Groups: people who are given rights on a queue together."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.views.request import DeskRequest
from oversight.administration.answering import (
    LOOKING,
    Act,
    acted,
    acting,
    chosen,
    created,
    said,
)
from oversight.forms import GroupForm, MemberForm
from oversight.pages.groups import group_view, groups_view
from oversight.showing import page
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page
from tenants.services import add_to_group, create_group, remove_from_group


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def groups(request: DeskRequest) -> HttpResponse:
    """GET groups: all of them. POST: create one, and go to it."""
    return created(request, _show_all, _create, act="create", there="group")


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def group(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET groups/{id}. POST: one of `ACTS`."""
    return acted(request, id, partial(_show, id=id), ACTS, "group")


def _create(request: DeskRequest) -> UUID:
    return create_group(**acting(request), **said(GroupForm(request.POST))).id


def _add(request: DeskRequest, id: UUID) -> None:
    member = said(MemberForm(request.POST))["member"]
    add_to_group(**acting(request), group_id=id, member_id=member)


def _remove(request: DeskRequest, id: UUID) -> None:
    member = chosen(MemberForm(request.POST))["member"]
    remove_from_group(**acting(request), group_id=id, member_id=member)


ACTS: Final[Mapping[str, Act]] = {"add": _add, "remove": _remove}


def _show_all(request: DeskRequest, *, status: int = 200, **shown: Any) -> HttpResponse:
    after = request.GET.get("after", "")
    return page(
        request,
        "groups.html",
        lambda _: {"groups": groups_view(request.member, after, **shown)},
        place="people",
        status=status,
    )


def _show(
    request: DeskRequest, *, id: UUID, status: int = 200, **shown: Any
) -> HttpResponse:
    return page(
        request,
        "group.html",
        lambda _: {"group": group_view(request.member, id, **shown)},
        place="people",
        status=status,
    )
