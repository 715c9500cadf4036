"""An action was started and its outcome never recorded: find out, never guess.

A worker may have died before sending, while sending, or after the tool answered. The
tool's own status decides; where it cannot tell, the same key may be sent again only
if the tool honours keys. Else a person must find out.
"""

import time
from datetime import datetime, timedelta
from typing import Final

from approvals.models import Request
from approvals.resume.job import Claimed, finish, hold, retry
from approvals.resume.send import Sending, send_and_settle
from approvals.services.closing import ENDED
from approvals.services.consume import SEND_WITHIN
from approvals.services.refusing import need_attention
from approvals.services.report import settle
from approvals.services.scene import lock_scene_of
from checkpoints.effects import next_attempt
from checkpoints.models import Attempt, Effect, Tool
from checkpoints.tools import ToolOutcome, ask_status
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from kernel.strict_json import parse
from sessions.models import Run
from sessions.runs import lock_run
from tenants.models import Agent, Tenant
from tenants.verbs import Verb, perform

# What may still be on the wire after an attempt's deadline, unless the tool knows.
SETTLE: Final = 30  # seconds
MOST_SENDS: Final = 3


def recover(claimed: Claimed, effect: Effect) -> str:
    """Settle a started effect. Returns the outcome's code."""
    if effect.state in ENDED:
        return perform(claimed.tenant_id, lambda verb: _ended(claimed, effect))
    with tenant_transaction(claimed.tenant_id):
        tool = Tool.objects.get(id=effect.tool_id)
    proved = ask_status(tool, key=bytes(effect.key))
    step = perform(
        claimed.tenant_id, lambda verb: _follow(verb, claimed, effect, proved)
    )
    return send_and_settle(claimed, step) if isinstance(step, Sending) else step


def _ended(claimed: Claimed, effect: Effect) -> str:
    """Somebody recorded it; only the job was left open."""
    lock_run(claimed.run_id)
    finish(claimed, effect.state)
    return effect.state


def _follow(
    verb: Verb, claimed: Claimed, effect: Effect, proved: ToolOutcome
) -> str | Sending:
    """In one transaction: record what is proved, or decide to send again."""
    request = lock_scene_of(claimed.request_id)
    run = lock_run(claimed.run_id)
    hold(claimed)
    attempt = Attempt.objects.get(effect_id=effect.id, number=effect.attempt)
    now = database_now()
    if proved.state in {"confirmed", "failed"}:
        return _settled(verb, claimed, run, attempt, proved)
    if now < attempt.send_before + timedelta(seconds=_settle_time(effect)):
        retry(verb, claimed, run, "effect.settling")
        return "effect.settling"
    if _may_send_again(effect, proved) and _still_allowed(request, effect):
        return _again(verb, claimed, run, effect, now)
    if proved.state == "absent":
        return _settled(verb, claimed, run, attempt, proved)
    return _give_up(verb, claimed, run, attempt, proved)


def _settle_time(effect: Effect) -> int:
    seconds = effect.tool.definition.get("settle", SETTLE)
    return int(seconds)


def _may_send_again(effect: Effect, proved: ToolOutcome) -> bool:
    """Proved absent, or under a key that the tool never carries out twice."""
    most = effect.tool.definition.get("attempts", MOST_SENDS)
    resend = bool(effect.tool.definition.get("resend", False))
    return effect.attempt < most and (proved.state == "absent" or resend)


def _still_allowed(request: Request, effect: Effect) -> bool:
    """The grant is spent; what may have changed since is who and what it was for."""
    tool = effect.tool
    return (
        Tenant.objects.filter(id=request.tenant_id, state="active").exists()
        and Agent.objects.filter(id=request.agent_id, enabled=True).exists()
        and tool.enabled
    )


def _settled(
    verb: Verb, claimed: Claimed, run: Run, attempt: Attempt, proved: ToolOutcome
) -> str:
    finish(claimed, proved.state)
    _record(verb, run, attempt, proved)
    return proved.state


def _give_up(
    verb: Verb, claimed: Claimed, run: Run, attempt: Attempt, proved: ToolOutcome
) -> str:
    """Neither sent nor not sent can be proved."""
    effect = Effect.objects.get(id=attempt.effect_id)
    if effect.state == Effect.State.STARTED:
        _record(verb, run, attempt, proved)
    Effect.objects.filter(id=effect.id, state=Effect.State.UNKNOWN).update(
        state=Effect.State.NEEDS_ATTENTION, due_at=None
    )
    finish(claimed, "effect.needs_attention")
    need_attention(verb, run, "The tool cannot say whether the action happened.")
    verb.changed(claimed.request_id, run.id)
    return "effect.needs_attention"


def _record(verb: Verb, run: Run, attempt: Attempt, proved: ToolOutcome) -> None:
    settle(
        verb,
        run,
        attempt.effect_id,
        attempt=attempt.number,
        fence=attempt.fence,
        outcome="unknown" if proved.state == "unproved" else proved.state,
        external_id=proved.external_id,
        evidence=proved.evidence,
    )


def _again(
    verb: Verb, claimed: Claimed, run: Run, effect: Effect, now: datetime
) -> Sending:
    """A further numbered attempt under the same key and the run's newest fence."""
    send_before = now + SEND_WITHIN
    attempt = next_attempt(verb, effect, fence=run.fence, send_before=send_before)
    action = parse(bytes(effect.action))
    assert isinstance(action, dict)
    return Sending(
        effect_id=effect.id,
        key=bytes(effect.key),
        attempt=attempt.number,
        fence=run.fence,
        tool=effect.tool,
        arguments=action["arguments"],
        not_after=send_before,
        deadline=_deadline(),
    )


def _deadline() -> float:
    """Conservative: counted from before this transaction commits."""
    return time.monotonic() + SEND_WITHIN.total_seconds() / 2
