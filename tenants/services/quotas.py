"""How many questions agents may ask: set by those who administer, counted as they ask.

People's attention is what runs out first. An agent over its number is refused before it
reaches anybody; one that asks far more than it used to is pointed out, and goes on.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection

from audit.append import Actor
from kernel.problems import declare
from tenants.checks import Acting, permitted
from tenants.models import Agent, Tenant
from tenants.services.change import change, own
from tenants.verbs import Verb

MOST: Final = 100_000

QUOTA_EXCEEDED: Final = declare(
    "quota_exceeded", status=429, title="This agent asks more than it may"
)
QUOTA_INVALID: Final = declare(
    "quota_invalid", status=422, title="This is no number of questions"
)

_ROOM: Final = """
SELECT coalesce(a.asks_per_minute, t.asks_per_minute), coalesce(c.asked, 0),
  ceil(60 - extract(second FROM clock_timestamp()))::integer
FROM tenants_agent a JOIN tenants_tenant t ON t.id = a.tenant_id
LEFT JOIN tenants_askcount c ON c.tenant_id = a.tenant_id AND c.agent_id = a.id
  AND c.minute = date_trunc('minute', clock_timestamp())
WHERE a.id = %s
"""
_COUNT: Final = "SELECT * FROM keyturn_count_asked(%s, %s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What was usual, where that is known; `began`: an unusual hour begins with it."""

    usual: int | None
    began: bool


def require_room(agent_id: UUID, wanted: int) -> None:
    """Refuse, before anything is done, what will not be counted anyway. Takes no lock.

    Raises `quota_exceeded` (429) with `retry_after`.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ROOM, [agent_id])
        most, asked, seconds = cursor.fetchone()
    if asked + wanted > most:
        raise _exceeded(seconds)


def count_asked(agent_id: UUID, wanted: int) -> Pace:
    """Count questions that were just written, last in their verb: its lock is short.

    Raises `quota_exceeded` (429), which takes back what was written.
    """
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [agent_id, wanted])
        allowed, seconds, usual, began = cursor.fetchone()
    if not allowed:
        raise _exceeded(seconds)
    return Pace(usual=usual, began=began)


def limit_agent(
    *, tenant_id: UUID, by: Acting, agent_id: UUID, per_minute: int | None
) -> None:
    """Give an agent a number of its own, or None for the tenant's."""
    _check(per_minute)

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        own(Agent, tenant_id, agent_id)
        rows = Agent.objects.filter(tenant_id=tenant_id, id=agent_id)
        rows.update(asks_per_minute=per_minute)
        _record(verb, "agent.limited", actor, ("agent", agent_id), per_minute)

    change(tenant_id, work)


def limit_agents(*, tenant_id: UUID, by: Acting, per_minute: int) -> None:
    """Say how many questions each agent may ask that has no number of its own."""
    _check(per_minute)

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        Tenant.objects.filter(id=tenant_id).update(asks_per_minute=per_minute)
        subject = ("tenant", tenant_id)
        _record(verb, "tenant.agents_limited", actor, subject, per_minute)

    change(tenant_id, work)


def _exceeded(seconds: int) -> Exception:
    said = f"Wait {seconds} seconds; nothing was stored."
    return QUOTA_EXCEEDED(said, retry_after=seconds)


def _check(per_minute: int | None) -> None:
    if per_minute is not None and not 1 <= per_minute <= MOST:
        raise QUOTA_INVALID(f"From 1 to {MOST}.", "/per_minute")


def _record(
    verb: Verb, kind: str, actor: Actor, subject: tuple[str, UUID], most: int | None
) -> None:
    verb.record(kind, actor=actor, subject=subject, data={"per_minute": most})
