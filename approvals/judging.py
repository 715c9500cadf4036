"""What the policies in force say about an action, on live facts."""

from typing import Any

from approvals.policy import ActionSubject, Obligation, evaluate
from approvals.queries import fact_values, statements
from sessions.models import Run, Session
from tenants.models import Agent, ApiKey


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
    """The obligation that all matching policies give now."""
    return evaluate(
        statements(),
        ActionSubject(
            tool=tool,
            arguments=arguments,
            target=target,
            risk=risk,
            environment=key.environment,
            agent=agent.name,
            subject=session.subject,
            facts=fact_values(run.id),
        ),
    )
