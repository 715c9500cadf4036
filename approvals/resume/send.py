"""Calling the tool, outside any transaction, and recording what came of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.resume.barriers import COMMIT, OUTCOME, SEND, reach
from approvals.resume.job import Claimed, finish, hold, retry
from approvals.services.closing import ENDED, close_step
from approvals.services.granting import SYSTEM
from checkpoints.effects import may_try_again, record_outcome
from checkpoints.models import Effect, Tool
from checkpoints.tools import ToolOutcome, call
from kernel.outcome import Passed
from sessions.runs import lock_run
from tenants.verbs import Verb, perform


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """One attempt that may be sent until `deadline` (this process's monotonic clock)."""

    effect_id: UUID
    key: bytes
    attempt: int
    fence: int
    tool: Tool
    arguments: dict[str, Any]
    not_after: datetime
    deadline: float


def send_and_settle(claimed: Claimed, sending: Sending) -> str:
    """Send unless the deadline has passed, then record the outcome."""
    reach(SEND)
    outcome = call(
        sending.tool,
        key=sending.key,
        effect_id=sending.effect_id,
        attempt=sending.attempt,
        fence=sending.fence,
        not_after=sending.not_after,
        arguments=sending.arguments,
        start_by=sending.deadline,
    )
    reach(OUTCOME)
    return settle_job(claimed, sending, outcome)


def settle_job(claimed: Claimed, sending: Sending, outcome: ToolOutcome) -> str:
    """The outcome, the job's end and the run's next step, in one transaction."""
    return perform(
        claimed.tenant_id, lambda verb: _settle(verb, claimed, sending, outcome)
    )


def _settle(
    verb: Verb, claimed: Claimed, sending: Sending, outcome: ToolOutcome
) -> str:
    run = lock_run(claimed.run_id)
    hold(claimed)
    effect = record_outcome(
        verb,
        sending.effect_id,
        attempt=sending.attempt,
        fence=sending.fence,
        outcome=outcome.state,
        external_id=outcome.external_id,
        evidence=outcome.evidence,
        actor=SYSTEM,
    )
    if may_follow(effect):
        retry(verb, claimed, run, f"effect.{effect.state}")
        return effect.state
    finish(claimed, run, effect.state)
    close_step(verb, run, effect)
    reach(COMMIT)
    return effect.state


def may_follow(effect: Effect) -> bool:
    """Whether the outcome is still open: to be found out, or to be tried again."""
    if effect.state == Effect.State.ABSENT:
        return isinstance(may_try_again(effect), Passed)
    return effect.state not in ENDED
