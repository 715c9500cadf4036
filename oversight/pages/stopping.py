"""The page of a stop switch, from rows; inside the tenant's scope."""

from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, QuerySet

from approvals.beforehand import live
from approvals.models import Grant, Request
from approvals.pages.addresses import address
from approvals.services.stopping import Target
from approvals.states import LIVE, OPEN
from audit.browsing import Wanted, entries
from checkpoints.models import Effect, Tool
from kernel.clock import database_now
from kernel.problems import NOT_FOUND
from oversight.pages.audit import actor_name, actor_names
from oversight.presentation.forms import Form
from oversight.presentation.stopping import Reach, StopView, Turned
from sessions.models import Run
from sessions.runs import ENDED
from tenants.access import Membership
from tenants.models import Agent, Tenant

OUT: Final = (Effect.State.INTENDED, Effect.State.STARTED, Effect.State.UNKNOWN)
TURNS: Final = {
    "agent": ("agent.disabled", "agent.enabled"),
    "tool": ("tool.disabled", "tool.enabled"),
    "tenant": ("tenant.stopped", "tenant.active"),
}


def stop_view(member: Membership, target: Target, form: Form | None) -> StopView:
    """What is reached, and who turned it last. Raises `not_found`."""
    named = _named(member, target)
    return StopView(
        **named,
        reach=_reach(target),
        last=_last(member.tenant_id, target, named["kind"]),
        form=form or Form(),
        now=database_now(),
    )


def _named(member: Membership, target: Target) -> dict[str, Any]:
    if target.agent_id is not None:
        agent = Agent.objects.filter(id=target.agent_id).first()
        return _one(member.slug, "agent", agent)
    if target.tool_id is not None:
        tool = Tool.objects.filter(id=target.tool_id).first()
        return _one(member.slug, "tool", tool)
    tenant = Tenant.objects.get(id=member.tenant_id)
    return {
        "kind": "tenant",
        "name": tenant.name,
        "on": tenant.state == Tenant.State.ACTIVE,
        "back_href": address("agents", member.slug),
        "back": "Agents",
        "here": address("tenant_stop", member.slug),
    }


def _one(slug: str, kind: str, row: Agent | Tool | None) -> dict[str, Any]:
    if row is None:
        raise NOT_FOUND()
    return {
        "kind": kind,
        "name": row.name,
        "on": row.enabled,
        "back_href": address(kind, slug, row.id),
        "back": row.name,
        "here": address(f"{kind}_stop", slug, row.id),
    }


def _reach(target: Target) -> Reach:
    asked = Request.objects.filter(**target.named)
    waiting = asked.filter(state__in=OPEN)
    queues = waiting.values_list("queue__name").annotate(n=Count("id"))
    grants = Grant.objects.filter(state=Grant.State.LIVE, request__in=asked)
    return Reach(
        runs=_runs(target).exclude(state__in=ENDED).count(),
        requests=waiting.count(),
        grants=grants.count(),
        standing=live().filter(**target.named).count(),
        started=_effects(target).filter(state__in=OUT).count(),
        queues=tuple(queues.order_by("queue__name")),
    )


def _runs(target: Target) -> QuerySet[Run]:
    """Those of the agent; of a tool those that wait for an answer about it."""
    if target.tool_id is None:
        return Run.objects.filter(**target.named)
    asked = Request.objects.filter(run=OuterRef("id"), tool_id=target.tool_id)
    return Run.objects.filter(Exists(asked.filter(state__in=LIVE)))


def _effects(target: Target) -> QuerySet[Effect]:
    if target.agent_id is not None:
        return Effect.objects.filter(run__agent_id=target.agent_id)
    return Effect.objects.filter(**target.named)


def _last(tenant_id: UUID, target: Target, kind: str) -> Turned | None:
    """The newest entry of all that say so of it."""
    about = Wanted(subject=target.agent_id or target.tool_id or tenant_id)
    row = entries(tenant_id, about).filter(kind__in=TURNS[kind]).first()
    if row is None:
        return None
    return Turned(
        by=actor_name(row, actor_names([row])),
        at=row.at,
        reason=str(row.data.get("reason", "")),
    )
