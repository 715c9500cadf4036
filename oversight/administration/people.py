"""Who belongs to the tenant, in which role, and in which groups."""

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
from oversight.forms import InvitationForm, OneGroupForm, RoleForm
from oversight.pages.people import member_view, people_view
from oversight.presentation.forms import Form
from tenants.access import ADMINISTRATORS
from tenants.models import Role
from tenants.pages import member_page
from tenants.services import (
    add_to_group,
    change_role,
    deactivate_member,
    invite_member,
    reactivate_member,
    remove_from_group,
)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def people(request: DeskRequest) -> HttpResponse:
    """GET people: all members. POST: make somebody one, and go to them."""
    if request.method != "POST":
        return _show_all(request)
    try:
        given = said(InvitationForm(request.POST))
        role = Role(given.pop("role"))
        made = invite_member(**acting(request), **given, role=role)
    except (Problem, Flawed) as error:
        form = again("invite", request.POST, error)
        return _show_all(request, form, status=status_of(error))
    return seen(request, "person", made.id)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def person(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET people/{id}. POST: one of `ACTS`."""
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
    return seen(request, "person", id)


def _change_role(request: DeskRequest, id: UUID) -> None:
    role = Role(chosen(RoleForm(request.POST))["role"])
    change_role(**acting(request), member_id=id, role=role)


def _deactivate(request: DeskRequest, id: UUID) -> None:
    deactivate_member(**acting(request), member_id=id)


def _reactivate(request: DeskRequest, id: UUID) -> None:
    reactivate_member(**acting(request), member_id=id)


def _join(request: DeskRequest, id: UUID) -> None:
    group = said(OneGroupForm(request.POST))["group"]
    add_to_group(**acting(request), group_id=group, member_id=id)


def _leave(request: DeskRequest, id: UUID) -> None:
    group = chosen(OneGroupForm(request.POST))["group"]
    remove_from_group(**acting(request), group_id=group, member_id=id)


ACTS: Final[Mapping[str, Act]] = {
    "role": _change_role,
    "deactivate": _deactivate,
    "reactivate": _reactivate,
    "join": _join,
    "leave": _leave,
}


def _show_all(
    request: DeskRequest, form: Form | None = None, status: int = 200
) -> HttpResponse:
    after = request.GET.get("after", "")
    return page(
        request,
        "people.html",
        lambda: {"people": people_view(request.member, after, form)},
        place="people",
        status=status,
    )


def _show(
    request: DeskRequest, id: UUID, *, status: int = 200, **shown: Any
) -> HttpResponse:
    return page(
        request,
        "person.html",
        lambda: {"person": member_view(request.member, id, **shown)},
        place="people",
        status=status,
    )
