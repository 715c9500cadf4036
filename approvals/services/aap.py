"""The verbs of the Agent Approval Protocol, on the same requests and grants.

Nothing is decided here that is not decided elsewhere: a submission is asked about like
any other, and consuming it verifies it like any redeemed approval.
"""

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from approvals.asks import Ask
from approvals.models import AAPRequest, Grant, Request
from approvals.problems import NOT_APPROVED, NOT_FOUND, WRONG_MODE
from approvals.services.consume import Declined, consume
from approvals.services.ending import end_request, expire
from approvals.services.granting import end_jobs
from approvals.services.redeem import ACT_WITHIN, handed_over
from approvals.services.report import settle
from approvals.services.request import ask_at_once, gate_to_request
from approvals.services.revise import lock_own, require_environment
from approvals.states import OPEN
from approvals.vault import open_note, seal_note, seal_texts
from checkpoints.models import Attempt, Effect, Tool
from kernel.clock import ClockTimestamp, database_now
from kernel.locks import try_request_key
from kernel.problems import BUSY, Problem, declare
from kernel.update import update_exactly_one
from sessions.models import Run
from sessions.runs import lock_run, move_run
from tenants.principal import Principal
from tenants.verbs import Verb, perform

IDEMPOTENCY_CONFLICT: Final = declare(
    "idempotency_conflict", status=409, title="This key was used for another submission"
)
ALREADY_TERMINAL: Final = declare(
    "already_terminal", status=409, title="This was decided already"
)
ALREADY_CONSUMED: Final = declare(
    "already_consumed", status=409, title="This approval was used already"
)
APPROVAL_EXPIRED: Final = declare(
    "approval_expired", status=409, title="The time to use this approval is over"
)
NOT_CONSUMED: Final = declare(
    "not_consumed", status=409, title="This approval has not been used"
)
OUTCOMES: Final = {"succeeded": "confirmed", "failed": "failed"}
ALLOWED: Final = ("approve", "reject")
"""The protocol has no edited arguments: whoever wants others rejects, and says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What an instance submits. `seconds` is `timeout` in figures, `body` what came."""

    tool: str
    arguments: dict[str, Any]
    timeout: str
    seconds: int
    server: str | None
    reasoning: str | None
    context: str | None
    body: bytes


def submit(
    principal: Principal, submission: Submission, *, key: str
) -> tuple[AAPRequest, bool]:
    """Ask once for each key; whether it was asked now.

    Raises `idempotency_conflict`, `environment_differs` (409), `busy` (503) while a twin
    is under way, `tool_is_managed`, and what `ask_one` raises.
    """
    ask = Ask(
        tool=submission.tool,
        arguments=submission.arguments,
        target={"server": submission.server} if submission.server else None,
        explanation=submission.reasoning or "",
        allowed=ALLOWED,
        decide_within=submission.seconds,
    )
    digest, key = hashlib.sha256(submission.body).digest(), _hashed(key)

    def work(verb: Verb) -> tuple[AAPRequest, bool]:
        if not try_request_key(principal.tenant_id, principal.agent_id, f"aap:{key}"):
            raise BUSY("The same submission is being handled.")
        known = AAPRequest.objects.filter(agent_id=principal.agent_id, key=key).first()
        if known is not None:
            require_environment(principal, known.request_id)
            if bytes(known.body_digest) != digest:
                raise IDEMPOTENCY_CONFLICT()
            return known, False
        request, _ = ask_at_once(verb, principal, ask, subject="")
        if Tool.objects.get(id=request.tool_id).mode != Tool.Mode.AGENT:
            raise WRONG_MODE("It is carried out by its worker, not by the caller.")
        return _keep(principal, request, submission, key, digest), True

    gate = gate_to_request(principal, [ask], opens=True)
    return perform(principal.tenant_id, work, gate=gate)


def _keep(
    principal: Principal,
    request: Request,
    submission: Submission,
    key: str,
    digest: bytes,
) -> AAPRequest:
    fresh = Request.objects.get(id=request.id)
    # Policy may have decided by the time that was read before the row was written.
    asked_at = min(fresh.created_at, fresh.decided_at or fresh.created_at)
    within = timedelta(seconds=submission.seconds)
    known = AAPRequest(
        tenant_id=principal.tenant_id,
        request=request,
        agent_id=principal.agent_id,
        key=key,
        body_digest=digest,
        timeout=submission.timeout,
        asked_at=asked_at,
        deadline_at=fresh.due_at or asked_at + within,
    )
    texts = {
        "server": submission.server,
        "reasoning": submission.reasoning,
        "context": submission.context,
    }
    known.sealed = seal_texts(known, texts, session_id=request.session_id)
    known.save(force_insert=True)
    return known


def cancel(principal: Principal, request_id: UUID) -> None:
    """Take back what is undecided. Raises `already_terminal` (409), `not_found`."""

    def work(verb: Verb) -> Problem | None:
        own(principal, request_id)
        request = lock_own(principal, request_id)
        if request.state == Request.State.CANCELLED:
            return None
        if request.state not in OPEN:
            return ALREADY_TERMINAL(f"It is {request.state}.")
        now, reason = database_now(), "The agent no longer waits for it."
        if request.due_at is not None and now >= request.due_at:
            expire(verb, request, now)
            return ALREADY_TERMINAL("It has expired.")
        to, actor = Request.State.CANCELLED, principal.actor
        end_request(verb, request, to, now, reason, actor=actor)
        return None

    _raised(perform(principal.tenant_id, work))


def use(principal: Principal, request_id: UUID, *, key: str) -> None:
    """Verify and use the approval up, once; again with the same key changes nothing,
    and is refused where the action may no longer be begun.

    Raises `already_consumed`, `not_approved`, `approval_expired` (409), `not_found`.
    """

    def work(verb: Verb) -> Problem | None:
        request = lock_own(principal, request_id)
        run, known = lock_run(request.run_id), own(principal, request_id)
        if known.consume_key is not None:
            return _again(request, known, key)
        if request.state == Request.State.LAPSED:
            return APPROVAL_EXPIRED()
        if request.state != Request.State.APPROVED:
            return NOT_APPROVED(f"The request is {request.state}.")
        return _use(verb, principal, request, run, known, key)

    _raised(perform(principal.tenant_id, work))


def _again(request: Request, known: AAPRequest, key: str) -> Problem | None:
    """A lost answer is repeated, as long as it still lets its instance act."""
    if known.consume_key != _hashed(key):
        return ALREADY_CONSUMED()
    if known.outcome:
        return None
    started = handed_over(request)
    if isinstance(started, Problem):
        return NOT_APPROVED(started.detail)
    late = database_now() >= started.attempt.send_before
    return APPROVAL_EXPIRED() if late else None


def _use(
    verb: Verb,
    principal: Principal,
    request: Request,
    run: Run,
    known: AAPRequest,
    key: str,
) -> Problem | None:
    outcome = consume(
        verb, request, run, door="redeem", actor=principal.actor, within=ACT_WITHIN
    )
    if isinstance(outcome, Declined):
        return _declined(verb, request, outcome)
    mine = AAPRequest.objects.filter(id=known.id, consume_key=None)
    update_exactly_one(mine, consume_key=_hashed(key))
    end_jobs(request, "consumed")  # no worker need look whether it may be
    return None


def _declined(verb: Verb, request: Request, declined: Declined) -> Problem:
    """The instance gives up at once, so that nobody is asked anew in vain."""
    refused, now = declined.refused, database_now()
    fresh = Request.objects.get(id=request.id)
    if fresh.state in OPEN:
        end_request(verb, fresh, Request.State.CANCELLED, now, refused.reason)
    expired = refused.code == "authority.grant_expired"
    return (APPROVAL_EXPIRED if expired else NOT_APPROVED)(refused.reason)


def report(principal: Principal, request_id: UUID, *, status: str, note: str) -> None:
    """What came of it. The same again changes nothing.

    Raises `not_consumed`, `outcome_conflict` (409), `not_found`.
    """

    def work(verb: Verb) -> Problem | None:
        request = lock_own(principal, request_id)
        run, known = lock_run(request.run_id), own(principal, request_id)
        if known.consume_key is None:
            return NOT_CONSUMED()
        if known.outcome:
            said = known.outcome, open_note(known, session_id=request.session_id)
            return None if said == (status, note) else Problem("outcome_conflict")
        _settle(verb, principal, request, run, status, note)
        update_exactly_one(
            AAPRequest.objects.filter(id=known.id, outcome=""),
            outcome=status,
            sealed_note=seal_note(known, note, session_id=request.session_id),
            reported_at=ClockTimestamp(),
        )
        return None

    _raised(perform(principal.tenant_id, work))


def _settle(
    verb: Verb,
    principal: Principal,
    request: Request,
    run: Run,
    status: str,
    note: str,
) -> None:
    effect = Effect.objects.get(request=request.id)
    attempt = Attempt.objects.get(effect=effect, number=effect.attempt)
    settle(
        verb,
        run,
        effect.id,
        attempt=attempt.number,
        fence=attempt.fence,
        outcome=OUTCOMES[status],
        external_id="",
        evidence={"note": note} if note else {},
        actor=principal.actor,
    )
    if run.state == Run.State.RUNNING:  # it was opened for this one action
        move_run(verb, run, Run.State.COMPLETED, actor=principal.actor)


def own(principal: Principal, request_id: UUID) -> AAPRequest:
    """The instance's own submission. Raises `not_found`."""
    rows = AAPRequest.objects.filter(agent_id=principal.agent_id)
    known = rows.filter(request_id=request_id).first()
    if known is None:
        raise NOT_FOUND("No such request.")
    return known


def grant_of(known: AAPRequest) -> Grant | None:
    """The grant that answered it, whatever became of it."""
    return (
        Grant.objects.filter(request_id=known.request_id)
        .order_by("-created_at")
        .first()
    )


def _hashed(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _raised(outcome: Problem | None) -> None:
    """A refusal commits what it recorded, and only then is raised."""
    if outcome is not None:
        raise outcome
