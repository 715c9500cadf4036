"""Calling the tool, outside any transaction, and recording what came of it."""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.resume.job import Claimed, finish, hold, retry
from approvals.services.closing import ENDED
from approvals.services.report import settle
from checkpoints.models import Tool
from checkpoints.tools import ToolOutcome, call
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
    if time.monotonic() >= sending.deadline:
        late = ToolOutcome(state="absent", evidence={"sent": False, "why": "too late"})
        return settle_job(claimed, sending, late)
    return settle_job(claimed, sending, _call(sending))


def _call(sending: Sending) -> ToolOutcome:
    return call(
        sending.tool,
        key=sending.key,
        effect_id=sending.effect_id,
        attempt=sending.attempt,
        fence=sending.fence,
        not_after=sending.not_after,
        arguments=sending.arguments,
    )


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
    if outcome.state in ENDED:
        finish(claimed, outcome.state)
    settle(
        verb,
        run,
        sending.effect_id,
        attempt=sending.attempt,
        fence=sending.fence,
        outcome=outcome.state,
        external_id=outcome.external_id,
        evidence=outcome.evidence,
    )
    if outcome.state not in ENDED:
        retry(verb, claimed, run, "effect.unknown")
    return outcome.state
