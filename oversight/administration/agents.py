"""Agents, who answers for them, and their keys."""

from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.forms import Flawed
from approvals.views.request import DeskRequest, missing_is_404
from kernel.clock import database_now
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
from oversight.forms import (
    AgentForm,
    KeyForm,
    MemberForm,
    OneKeyForm,
    RotationForm,
)
from oversight.pages.agents import agent_view, agents_view
from oversight.presentation.forms import Form
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page
from tenants.services import (
    Issued,
    add_agent_owner,
    create_agent,
    end_agent_ownership,
    issue_key,
    revoke_key,
    rotate_key,
)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def agents(request: DeskRequest) -> HttpResponse:
    """GET agents: all of them. POST: create one, and go to it."""
    if request.method != "POST":
        return _show_all(request)
    try:
        given = said(AgentForm(request.POST))
        made = _create(request, given)
    except (Problem, Flawed) as error:
        form = again("create", request.POST, error)
        return _show_all(request, form, status=status_of(error))
    return seen(request, "agent", made)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def agent(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET agents/{id}. POST: one of `ACTS`, or of `SECRET`, which shows a key once."""
    if request.method != "POST":
        return _show(request, id)
    act = request.POST.get("act", "")
    try:
        with missing_is_404():
            issued = _carry_out(request, id, act)
    except (Problem, Flawed) as error:
        return _refused(request, id, act, error)
    if issued is not None:
        return _show(request, id, secret=issued.text)
    return seen(request, "agent", id)


def _create(request: DeskRequest, given: dict[str, Any]) -> UUID:
    with missing_is_404():
        made = create_agent(
            **acting(request), name=given["name"], owners=[given["member"]]
        )
    return made.id


def _carry_out(request: DeskRequest, id: UUID, act: str) -> Issued | None:
    if act in SECRET:
        return SECRET[act](request, id)
    if act not in ACTS:
        raise NOT_FOUND()
    ACTS[act](request, id)
    return None


def _add_owner(request: DeskRequest, id: UUID) -> None:
    member = said(MemberForm(request.POST))["member"]
    add_agent_owner(**acting(request), agent_id=id, member_id=member)


def _end_owner(request: DeskRequest, id: UUID) -> None:
    member = chosen(MemberForm(request.POST))["member"]
    end_agent_ownership(**acting(request), agent_id=id, member_id=member)


def _revoke(request: DeskRequest, id: UUID) -> None:
    revoke_key(**acting(request), key_id=chosen(OneKeyForm(request.POST))["key"])


def _issue(request: DeskRequest, id: UUID) -> Issued:
    given = said(KeyForm(request.POST))
    days = given.pop("days")
    ends = database_now() + timedelta(days=days) if days else None
    return issue_key(**acting(request), agent_id=id, **given, expires_at=ends)


def _rotate(request: DeskRequest, id: UUID) -> Issued:
    given = chosen(RotationForm(request.POST))
    overlap = timedelta(hours=given["hours"])
    return rotate_key(**acting(request), key_id=given["key"], overlap=overlap)


ACTS: Final[dict[str, Act]] = {
    "add_owner": _add_owner,
    "end_owner": _end_owner,
    "revoke": _revoke,
}
SECRET: Final = {"issue": _issue, "rotate": _rotate}
TYPED: Final = frozenset({"add_owner", "issue"})  # the others are buttons


def _refused(
    request: DeskRequest, id: UUID, act: str, error: Problem | Flawed
) -> HttpResponse:
    """Beside the field where something was typed, else above the page."""
    status = status_of(error)
    if isinstance(error, Problem) and act not in TYPED:
        return _show(request, id, notice=told(error), status=status)
    return _show(request, id, form=again(act, request.POST, error), status=status)


def _show_all(
    request: DeskRequest, form: Form | None = None, status: int = 200
) -> HttpResponse:
    after = request.GET.get("after", "")
    return page(
        request,
        "agents.html",
        lambda: {"agents": agents_view(request.member, after, form)},
        place="agents",
        status=status,
    )


def _show(
    request: DeskRequest, id: UUID, *, status: int = 200, **shown: Any
) -> HttpResponse:
    return page(
        request,
        "agent.html",
        lambda: {"agent": agent_view(request.member, id, **shown)},
        place="agents",
        status=status,
    )
