"""The agent takes its approved action: the grant is consumed as it is handed over."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from approvals.models import Request
from approvals.problems import NOT_APPROVED, REFUSED, WRONG_MODE
from approvals.services.consume import Declined, Started, consume
from approvals.services.revise import lock_own
from checkpoints.models import Tool
from kernel.problems import Problem
from sessions.runs import lock_run, require_writer
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.verbs import Verb, perform

ACT_WITHIN: Final = timedelta(minutes=5)


def redeem(
    principal: Principal, *, request_id: UUID, fence: int, once: Once | None = None
) -> Started:
    """Verify and consume, for the run's one writer.

    Raises `not_found`, `stale_writer`, `tool_is_managed`, `not_approved`, and a
    refusal's own code (409) with its class and report.
    """

    def work(verb: Verb) -> Started | Problem:
        return _redeem(verb, principal, request_id, fence)

    outcome = perform(principal.tenant_id, work, once=once)
    if isinstance(outcome, Problem):
        raise outcome
    return outcome


def _redeem(
    verb: Verb, principal: Principal, request_id: UUID, fence: int
) -> Started | Problem:
    request = lock_own(principal, request_id)
    run = lock_run(request.run_id)
    require_writer(run, fence)
    if Tool.objects.get(id=request.tool_id).mode != Tool.Mode.AGENT:
        raise WRONG_MODE("Wait for its outcome instead.")
    if request.state != Request.State.APPROVED:
        raise NOT_APPROVED(f"The request is {request.state}.", state=request.state)
    outcome = consume(
        verb, request, run, door="redeem", actor=principal.actor, within=ACT_WITHIN
    )
    return refusal_problem(outcome) if isinstance(outcome, Declined) else outcome


def refusal_problem(declined: Declined) -> Problem:
    """What the agent is told: the code, the class, and that nothing was sent."""
    refused = declined.refused
    return Problem(
        refused.code,
        REFUSED.status,
        REFUSED.title,
        f"{refused.reason} Nothing was sent.",
        **{"class": refused.klass, "checks": declined.report.checks},
    )
