"""The agent takes its approved action: the grant is consumed as it is handed over."""

from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from approvals.checks import check_recovery, check_wording
from approvals.envelope import Envelope
from approvals.models import Grant, Request, VerificationReport
from approvals.problems import NOT_APPROVED, PAUSE_UNDECIDED, REFUSED, WRONG_MODE
from approvals.queries import current_revision
from approvals.services.consume import Declined, Started, consume
from approvals.services.granting import waits_for_others
from approvals.services.revise import lock_own
from checkpoints.models import Attempt, Effect, Tool
from kernel.outcome import Refused
from kernel.problems import Problem
from sessions.runs import lock_run, require_writer
from tenants.idempotency import Once
from tenants.models import Tenant
from tenants.principal import Principal
from tenants.verbs import Verb, perform

ACT_WITHIN: Final = timedelta(minutes=5)


def redeem(
    principal: Principal, *, request_id: UUID, fence: int, once: Once | None = None
) -> Started:
    """Verify and consume, for the run's one writer.

    Raises `not_found`, `environment_differs`, `stale_writer`, `tool_is_managed`,
    `not_approved`, `pause_undecided`, and a refusal's own code (409) with its class and report.
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
    if request.state == Request.State.CONSUMED:
        return handed_over(request)
    if request.state != Request.State.APPROVED:
        raise NOT_APPROVED(f"The request is {request.state}.", state=request.state)
    if waits_for_others(request.pause_id):
        raise PAUSE_UNDECIDED("Wait: the run asked for all its answers first.")
    outcome = consume(
        verb, request, run, door="redeem", actor=principal.actor, within=ACT_WITHIN
    )
    return refusal_problem(outcome) if isinstance(outcome, Declined) else outcome


def handed_over(request: Request) -> Started | Problem:
    """The answer was lost, or its agent was killed: the same effect once more.

    Nothing is consumed again; key and deadline are those of the first time.
    """
    effect = Effect.objects.select_related("tool").get(request=request.id)
    set_back = check_recovery(Tenant.objects.get(id=request.tenant_id))
    if set_back is not None:
        return _as_problem(set_back)
    revision = current_revision(request)
    altered = check_wording(revision)
    if altered is not None:
        return _as_problem(altered)
    if effect.state != Effect.State.STARTED:
        return NOT_APPROVED(f"It was carried out: {effect.state}.", state=effect.state)
    attempt = Attempt.objects.get(effect=effect, number=effect.attempt)
    grant = Grant.objects.get(id=effect.grant)
    assert grant.ended_at is not None
    return Started(
        effect=effect,
        attempt=attempt,
        tool=effect.tool,
        envelope=Envelope(bytes(revision.envelope)),
        fence=attempt.fence,
        consumed_at=grant.ended_at,
        report=VerificationReport.objects.filter(grant=grant, passed=True).latest(
            "created_at"
        ),
    )


def refusal_problem(declined: Declined) -> Problem:
    """What the agent is told: the code, the class, and that nothing was sent."""
    return _as_problem(declined.refused, checks=declined.report.checks)


def _as_problem(refused: Refused, **more: Any) -> Problem:
    return Problem(
        refused.code,
        REFUSED.status,
        REFUSED.title,
        f"{refused.reason} Nothing was sent.",
        **{"class": refused.klass, **more},
    )
