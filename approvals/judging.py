"""What the policies in force say about an action, on live facts."""

from typing import Any
from uuid import UUID

from approvals.access import owners_since
from approvals.policy import ActionSubject, Obligation, evaluate
from approvals.policy.evaluate import serves_itself
from approvals.queries import fact_values, statements
from kernel.clock import database_now
from sessions.models import Run, Session
from tenants.models import Agent, ApiKey, Tenant


def judge_action(
    *,
    tool: str,
    arguments: dict[str, Any],
    target: Any,
    risk: str,
    key: ApiKey,
    agent: Agent,
    session: Session,
    run: Run,
) -> Obligation:
    """The obligation that all matching policies give now.

    A policy lets nothing through for its own author's agents: that would be to
    approve one's own request, in advance.
    """
    side = _askers(key, agent)
    said = [one for one in statements() if not serves_itself(one, side)]
    return evaluate(
        said,
        ActionSubject(
            tool=tool,
            arguments=arguments,
            target=target,
            risk=risk,
            environment=key.environment,
            agent=agent.name,
            subject=session.subject,
            facts=fact_values(run),
        ),
    )


def _askers(key: ApiKey, agent: Agent) -> frozenset[UUID]:
    """Who answers for the agent and made its key; nobody, where one person is all."""
    if Tenant.objects.filter(id=agent.tenant_id, solo=True).exists():
        return frozenset()
    owners = owners_since(agent.id, database_now())
    return owners | ({key.created_by_id} if key.created_by_id else frozenset())
