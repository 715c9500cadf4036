"""Who belongs to the tenant, in which role, and in which groups."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.forms import Flawed
from approvals.views.leave import LEAVE_ACTS
from approvals.views.request import DeskRequest, missing_is_404
from kernel.problems import NOT_FOUND, Problem
from oversight.administration.answering import (
    LOOKING,
    Act,
    acted,
    acting,
    chosen,
    refused,
    said,
    seen,
)
from oversight.forms import (
    GuestForm,
    InvitationForm,
    OneGroupForm,
    OneIdentityForm,
    OneInvitationForm,
    RoleForm,
    StayForm,
)
from oversight.pages.people import member_leave, member_view, people_view
from oversight.presentation.invitations import ShownLink
from oversight.showing import page
from tenants.access import ADMINISTRATORS
from tenants.models import Role
from tenants.pages import member_page
from tenants.services import (
    Invited,
    add_to_group,
    change_role,
    deactivate_member,
    extend_guest,
    invite_guest,
    invite_member,
    reactivate_member,
    remove_from_group,
    resend_invitation,
    revoke_invitation,
)
from tenants.services.entering import disconnect


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def people(request: DeskRequest) -> HttpResponse:
    """GET people: members, and who is asked in. POST: one of `ASKS`."""
    if request.method != "POST":
        return _show_all(request)
    act = request.POST.get("act", "")
    try:
        invited = _asked(request, act)
    except (Problem, Flawed) as error:
        return refused(request, _show_all, act, error, typed={"invite", "guest"})
    if invited and invited.link:
        to = invited.invitation.email
        return _show_all(request, link=ShownLink(email=to, href=invited.link))
    return seen(request, "people")


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def person(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET people/{id}. POST: one of `ACTS`."""
    return acted(request, id, partial(_show, id=id), ACTS, "person")


def _asked(request: DeskRequest, act: str) -> Invited | None:
    with missing_is_404():
        if act not in ASKS:
            raise NOT_FOUND()
        return ASKS[act](request)


def _invite(request: DeskRequest) -> Invited:
    given = said(InvitationForm(request.POST))
    role = Role(given.pop("role"))
    return invite_member(**acting(request), **given, role=role)


def _invite_guest(request: DeskRequest) -> Invited:
    return invite_guest(**acting(request), **said(GuestForm(request.POST)))


def _resend(request: DeskRequest) -> Invited:
    which = chosen(OneInvitationForm(request.POST))["invitation"]
    return resend_invitation(**acting(request), invitation_id=which)


def _take_back(request: DeskRequest) -> None:
    which = chosen(OneInvitationForm(request.POST))["invitation"]
    revoke_invitation(**acting(request), invitation_id=which)


ASKS: Final[Mapping[str, Callable[[DeskRequest], Invited | None]]] = {
    "invite": _invite,
    "guest": _invite_guest,
    "resend": _resend,
    "revoke": _take_back,
}


def _extend(request: DeskRequest, id: UUID) -> None:
    extend_guest(**acting(request), **said(StayForm(request.POST)), member_id=id)


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


def _disconnect(request: DeskRequest, id: UUID) -> None:
    identity = chosen(OneIdentityForm(request.POST))["identity"]
    disconnect(**acting(request), member_id=id, identity_id=identity)


ACTS: Final[Mapping[str, Act]] = {
    "disconnect": _disconnect,
    "role": _change_role,
    "deactivate": _deactivate,
    "extend": _extend,
    "reactivate": _reactivate,
    "join": _join,
    "leave": _leave,
    **LEAVE_ACTS,
}


def _show_all(request: DeskRequest, *, status: int = 200, **shown: Any) -> HttpResponse:
    after = request.GET.get("after", "")
    return page(
        request,
        "people.html",
        lambda _: {"people": people_view(request.member, after, **shown)},
        place="people",
        status=status,
    )


def _show(
    request: DeskRequest, *, id: UUID, status: int = 200, **shown: Any
) -> HttpResponse:
    return page(
        request,
        "person.html",
        lambda _: {
            "person": member_view(request.member, id, **shown),
            "leave": member_leave(request.member, id, request.POST, **shown),
        },
        place="people",
        status=status,
    )
