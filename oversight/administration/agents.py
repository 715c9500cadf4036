"""Agents, who answers for them, and their keys."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.forms import Flawed
from approvals.views.request import DeskRequest
from kernel.clock import database_now
from kernel.problems import Problem
from oversight.administration.answering import (
    LOOKING,
    acting,
    again,
    carry_out,
    chosen,
    created,
    refused,
    said,
    seen,
    status_of,
)
from oversight.forms import (
    AgentForm,
    KeyForm,
    MemberForm,
    OneKeyForm,
    QuotaForm,
    RotationForm,
    TenantQuotaForm,
)
from oversight.pages.agents import agent_view, agents_view
from oversight.showing import page
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
from tenants.services.quotas import limit_agent, limit_agents


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def agents(request: DeskRequest) -> HttpResponse:
    """GET agents: all of them. POST: create one and go to it, or `limit` all of them."""
    if request.POST.get("act") == "limit":
        return _limit_all(request)
    return created(request, _show_all, _create, act="create", there="agent")


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def agent(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET agents/{id}. POST: one of `ACTS`, or of `SECRET`, which shows a key once."""
    show, act = partial(_show, id=id), request.POST.get("act", "")
    if request.method != "POST":
        return show(request)
    try:
        issued = carry_out(request, id, ACTS | SECRET, act)
    except (Problem, Flawed) as error:
        return refused(request, show, act, error, typed=TYPED)
    if issued is not None:
        return show(request, secret=issued.text)
    return seen(request, "agent", id)


def _create(request: DeskRequest) -> UUID:
    given = said(AgentForm(request.POST))
    name, owners = given["name"], [given["member"]]
    return create_agent(**acting(request), name=name, owners=owners).id


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


def _limit(request: DeskRequest, id: UUID) -> None:
    most = said(QuotaForm(request.POST))["per_minute"]
    limit_agent(**acting(request), agent_id=id, per_minute=most)


def _limit_all(request: DeskRequest) -> HttpResponse:
    try:
        most = said(TenantQuotaForm(request.POST))["per_minute"]
        limit_agents(**acting(request), per_minute=most)
    except (Problem, Flawed) as error:
        form = again("limit", request.POST, error)
        return _show_all(request, form=form, status=status_of(error))
    return seen(request, "agents")


type Acts = dict[str, Callable[[DeskRequest, UUID], Issued | None]]

ACTS: Final[Acts] = {
    "add_owner": _add_owner,
    "end_owner": _end_owner,
    "revoke": _revoke,
    "limit": _limit,
}
SECRET: Final[Acts] = {"issue": _issue, "rotate": _rotate}
TYPED: Final = frozenset({"add_owner", "issue", "limit"})  # the others are buttons


def _show_all(request: DeskRequest, *, status: int = 200, **shown: Any) -> HttpResponse:
    after = request.GET.get("after", "")
    return page(
        request,
        "agents.html",
        lambda _: {"agents": agents_view(request.member, after, **shown)},
        place="agents",
        status=status,
    )


def _show(
    request: DeskRequest, *, id: UUID, status: int = 200, **shown: Any
) -> HttpResponse:
    return page(
        request,
        "agent.html",
        lambda _: {"agent": agent_view(request.member, id, **shown)},
        place="agents",
        status=status,
    )
