"""Agents: the programs that ask, and the people who answer for them."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from audit.append import Actor
from kernel.clock import ClockTimestamp
from kernel.problems import NOT_FOUND, declare
from kernel.update import LostRace, update_exactly_one
from tenants.checks import Acting, permitted
from tenants.idempotency import Once
from tenants.models import Agent, AgentOwner
from tenants.queries import active_member
from tenants.services.change import change, own
from tenants.services.names import checked_slug
from tenants.verbs import Verb

OWNER_NEEDED: Final = declare(
    "agent_owner_needed", status=409, title="Somebody answers for each agent"
)


def create_agent(
    *,
    tenant_id: UUID,
    by: Acting,
    name: str,
    owners: Sequence[UUID],
    once: Once | None = None,
) -> Agent:
    """Create an agent that the members `owners` answer for.

    None of them will ever approve what it asks. Raises `agent_owner_needed` (409)
    without owners, `name_taken` (409) within the tenant.
    """

    def work(verb: Verb) -> Agent:
        actor = permitted(tenant_id, by)
        return install_agent(verb, actor=actor, name=name, owners=owners)

    return change(tenant_id, work, once=once)


def disable_agent(
    *, tenant_id: UUID, by: Acting, agent_id: UUID, once: Once | None = None
) -> Agent:
    """Stop an agent: its keys, and the grants it holds, fail from now on."""
    return _switch(tenant_id, by, agent_id, enabled=False, once=once)


def enable_agent(
    *, tenant_id: UUID, by: Acting, agent_id: UUID, once: Once | None = None
) -> Agent:
    """Let an agent work again, with the keys that it had."""
    return _switch(tenant_id, by, agent_id, enabled=True, once=once)


def add_agent_owner(
    *,
    tenant_id: UUID,
    by: Acting,
    agent_id: UUID,
    member_id: UUID,
    once: Once | None = None,
) -> AgentOwner:
    """Make a member answerable, and thereby unable to approve, from now on."""

    def work(verb: Verb) -> AgentOwner:
        actor = permitted(tenant_id, by)
        return _own(verb, actor, own(Agent, tenant_id, agent_id), member_id)

    return change(tenant_id, work, once=once)


def end_agent_ownership(
    *,
    tenant_id: UUID,
    by: Acting,
    agent_id: UUID,
    member_id: UUID,
    once: Once | None = None,
) -> None:
    """End a member's ownership. It still excludes them from requests of its time.

    Raises `agent_owner_needed` (409) for the last owner.
    """

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        owners = AgentOwner.objects.filter(
            tenant_id=tenant_id, agent_id=agent_id, until=None
        )
        if not owners.exclude(member_id=member_id).exists():
            raise OWNER_NEEDED()
        update_exactly_one(owners.filter(member_id=member_id), until=ClockTimestamp())
        _record(verb, "agent.owner_ended", actor, agent_id, member_id)

    change(tenant_id, work, once=once)


def install_agent(
    verb: Verb, *, actor: Actor, name: str, owners: Sequence[UUID]
) -> Agent:
    """Create an agent inside a verb that has checked the right to."""
    if not owners:
        raise OWNER_NEEDED()
    agent = Agent.objects.create(tenant_id=verb.tenant_id, name=checked_slug(name))
    subject = ("agent", agent.id)
    verb.record("agent.created", actor=actor, subject=subject, data={"name": name})
    for member_id in dict.fromkeys(owners):
        _own(verb, actor, agent, member_id)
    return agent


def _own(verb: Verb, actor: Actor, agent: Agent, member_id: UUID) -> AgentOwner:
    if active_member(verb.tenant_id, member_id) is None:
        raise NOT_FOUND()
    ownership = AgentOwner.objects.create(
        tenant_id=verb.tenant_id, agent=agent, member_id=member_id
    )
    _record(verb, "agent.owner_added", actor, agent.id, member_id)
    return ownership


def turn_agent(
    verb: Verb, *, actor: Actor, agent_id: UUID, enabled: bool, reason: str = ""
) -> bool:
    """Switch an agent inside a verb that has checked the right to.

    False if it is so already. Raises `not_found` (404).
    """
    own(Agent, verb.tenant_id, agent_id)
    rows = Agent.objects.filter(tenant_id=verb.tenant_id, id=agent_id)
    if not rows.filter(enabled=not enabled).update(enabled=enabled):
        return False
    kind = "agent.enabled" if enabled else "agent.disabled"
    data = {"reason": reason} if reason else None
    verb.record(kind, actor=actor, subject=("agent", agent_id), data=data)
    return True


def _switch(
    tenant_id: UUID, by: Acting, agent_id: UUID, *, enabled: bool, once: Once | None
) -> Agent:
    def work(verb: Verb) -> Agent:
        actor = permitted(tenant_id, by)
        if not turn_agent(verb, actor=actor, agent_id=agent_id, enabled=enabled):
            raise LostRace("The agent is no longer in the state that this needs.")
        return own(Agent, tenant_id, agent_id)

    return change(tenant_id, work, once=once)


def _record(
    verb: Verb, kind: str, actor: Actor, agent_id: UUID, member_id: UUID
) -> None:
    data = {"member": str(member_id)}
    verb.record(kind, actor=actor, subject=("agent", agent_id), data=data)
