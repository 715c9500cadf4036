"""An action was started and its outcome never recorded: find out, never guess.

A worker may have died before sending, while sending, or after the tool answered. The
tool's own status decides; where it cannot tell, the same key may be sent again only
if the tool honours keys. Else a person must find out; and also where what is stored is
not what was agreed to: whatever the tool says then, it says of something else.
"""

import time
from datetime import datetime
from typing import Final
from uuid import UUID

from approvals.checks import check_recovery
from approvals.checks.evidence import check_wording
from approvals.envelope import Envelope
from approvals.models import Grant, Pause, Request
from approvals.queries import current_revision
from approvals.resume.job import Claimed, finish, hold, retry, wait
from approvals.resume.send import Sending, send_and_settle
from approvals.services.closing import close_step, go_on
from approvals.services.consume import SEND_WITHIN
from approvals.services.granting import SYSTEM
from approvals.services.refusing import need_attention
from approvals.services.scene import lock_scene_of
from checkpoints.definition import Terms
from checkpoints.effects import (
    absence_proved,
    is_asked_where_sent,
    lock_effect,
    may_try_again,
    next_attempt,
    record_outcome,
    settle_effect,
)
from checkpoints.models import Attempt, Effect, Tool
from checkpoints.tools import ToolStatus, ask_status
from kernel.clock import database_now
from kernel.outcome import Passed, Refused
from kernel.scope import tenant_transaction
from sessions.models import Run
from sessions.runs import extend_lease, lock_run, release_lease, take_lease
from tenants.models import Agent, Tenant
from tenants.verbs import Verb, perform

LEASE: Final = 60  # seconds
PROVED: Final = frozenset({"confirmed", "failed"})
ALTERED: Final = "The stored action is not what was agreed to."


def recover(claimed: Claimed, effect: Effect) -> str:
    """Settle a started effect. Returns the outcome's code."""
    if effect.state in PROVED:
        return perform(claimed.tenant_id, lambda verb: _ended(verb, claimed, effect))
    proved = _ask(claimed, effect)
    step = perform(
        claimed.tenant_id, lambda verb: _follow(verb, claimed, effect.id, proved)
    )
    return send_and_settle(claimed, step) if isinstance(step, Sending) else step


def _ask(claimed: Claimed, effect: Effect) -> ToolStatus:
    """What never left us needs no question."""
    if effect.state == Effect.State.ABSENT:
        return ToolStatus(state="absent")
    with tenant_transaction(claimed.tenant_id):
        tool = Tool.objects.get(id=effect.tool_id)
    return ask_status(tool, key=bytes(effect.key))


def _ended(verb: Verb, claimed: Claimed, effect: Effect) -> str:
    """Somebody recorded it; only the job was left open, and what waits for it."""
    request = lock_scene_of(claimed.request_id)
    run = lock_run(claimed.run_id)
    _inherit(run, effect, claimed)
    finish(claimed, run, effect.state)
    if Pause.objects.filter(id=request.pause_id, closed_at=None).exists():
        go_on(verb, run, request.pause_id)
    return effect.state


def _follow(
    verb: Verb, claimed: Claimed, effect_id: UUID, proved: ToolStatus
) -> str | Sending:
    """In one transaction: record what is proved, or decide to send again."""
    request = lock_scene_of(claimed.request_id)
    run = lock_run(claimed.run_id)
    hold(claimed)
    set_back = check_recovery(Tenant.objects.get(id=claimed.tenant_id))
    if set_back is not None:
        wait(claimed, set_back.code)
        return set_back.code
    return _judge(verb, claimed, request, run, effect_id, proved)


def _judge(
    verb: Verb,
    claimed: Claimed,
    request: Request,
    run: Run,
    effect_id: UUID,
    proved: ToolStatus,
) -> str | Sending:
    """On locked rows: what follows from what the tool says, and from what it does not."""
    lost = lock_effect(effect_id).state == Effect.State.STARTED
    effect = _doubted(verb, effect_id)
    _inherit(run, effect, claimed)
    agreed = _agreed(request, effect)
    if agreed is None:
        return _altered(verb, claimed, run, effect, proved)
    if proved.state in PROVED:
        return _found(verb, claimed, run, effect, proved)
    # Of a tool that honours keys it need not be known whether a lost worker had sent.
    allowed = _still_allowed(request, effect, agreed)
    safe = lost and allowed and Terms.of(effect.tool).resend
    if effect.state == Effect.State.UNKNOWN and not safe:
        settled = absence_proved(effect, asked=proved.asked)
        if isinstance(settled, Refused):
            return _look_again(verb, claimed, run, settled)
        if proved.state == "absent" and is_asked_where_sent(effect, proved.at):
            effect = _absent(verb, effect, proved)
    if allowed and isinstance(may_try_again(effect), Passed):
        return _again(verb, claimed, run, request, effect)
    return _conclude(verb, claimed, run, effect)


def _doubted(verb: Verb, effect_id: UUID) -> Effect:
    """A started effect whose worker is gone is unknown, and nothing better."""
    effect = lock_effect(effect_id)
    if effect.state != Effect.State.STARTED:
        return effect
    attempt = Attempt.objects.get(effect=effect, number=effect.attempt)
    return record_outcome(
        verb,
        effect.id,
        attempt=attempt.number,
        fence=attempt.fence,
        outcome=Effect.State.UNKNOWN,
        evidence={"why": "the worker was lost"},
        actor=SYSTEM,
    )


def _inherit(run: Run, effect: Effect, claimed: Claimed) -> None:
    """The lease that the lost worker took is ours now, and ends with our job."""
    attempt = Attempt.objects.get(effect=effect, number=effect.attempt)
    if run.lease_holder is not None and run.fence == attempt.fence:
        extend_lease(run, holder=claimed.claim, seconds=LEASE)


def _look_again(verb: Verb, claimed: Claimed, run: Run, settled: Refused) -> str:
    by = datetime.fromisoformat(settled.detail["settled_at"])
    retry(verb, claimed, run, settled.code, by=by)
    return settled.code


def _found(
    verb: Verb, claimed: Claimed, run: Run, effect: Effect, proved: ToolStatus
) -> str:
    """The tool itself says what happened."""
    finish(claimed, run, proved.state)
    settled = settle_effect(
        verb,
        effect.id,
        outcome=proved.state,
        external_id=proved.external_id,
        evidence=proved.evidence,
        actor=SYSTEM,
    )
    close_step(verb, run, settled)
    return proved.state


def _absent(verb: Verb, effect: Effect, proved: ToolStatus) -> Effect:
    return settle_effect(
        verb,
        effect.id,
        outcome=Effect.State.ABSENT,
        evidence=proved.evidence,
        asked=proved.asked,
        actor=SYSTEM,
    )


def _still_allowed(request: Request, effect: Effect, agreed: Envelope) -> bool:
    """The grant is spent; what may have changed since is who and what it was for.

    And its time may be over: what was not sent by then is not sent any more.
    """
    return (
        database_now() < Grant.objects.get(id=effect.grant).expires_at
        and Tenant.objects.filter(id=request.tenant_id, state="active").exists()
        and Agent.objects.filter(id=request.agent_id, enabled=True).exists()
        and Tool.objects.filter(
            id=effect.tool_id, enabled=True, digest=approved_tool(agreed)
        ).exists()
    )


def _agreed(request: Request, effect: Effect) -> Envelope | None:
    """The wording that people agreed to, if this effect is of exactly that."""
    revision = current_revision(request)
    envelope = Envelope(bytes(revision.envelope))
    if check_wording(revision) is not None:
        return None
    agreed = (envelope.effect_key(), envelope.sealed_action())
    return envelope if agreed == (bytes(effect.key), bytes(effect.action)) else None


def approved_tool(envelope: Envelope) -> bytes:
    """The digest of the tool as it was when people agreed to use it."""
    return bytes.fromhex(envelope.record["tool"]["digest"])


def _altered(
    verb: Verb, claimed: Claimed, run: Run, effect: Effect, proved: ToolStatus
) -> str:
    """No outcome follows from altered rows; what never left us stays absent, unclosed."""
    if effect.state != Effect.State.ABSENT:
        settle_effect(
            verb,
            effect.id,
            outcome=Effect.State.NEEDS_ATTENTION,
            evidence={"why": ALTERED, "said": proved.state},
            actor=SYSTEM,
        )
    finish(claimed, run, "effect.needs_attention")
    need_attention(verb, run, ALTERED)
    return "effect.needs_attention"


def _conclude(verb: Verb, claimed: Claimed, run: Run, effect: Effect) -> str:
    """It did not happen and will not; or nobody but a person can tell."""
    if effect.state == Effect.State.ABSENT:
        finish(claimed, run, effect.state)
        close_step(verb, run, effect)
        return effect.state
    settle_effect(
        verb,
        effect.id,
        outcome=Effect.State.NEEDS_ATTENTION,
        evidence={"why": "the tool cannot tell"},
        actor=SYSTEM,
    )
    finish(claimed, run, "effect.needs_attention")
    need_attention(verb, run, "The tool cannot say whether the action happened.")
    return "effect.needs_attention"


def _again(
    verb: Verb, claimed: Claimed, run: Run, request: Request, effect: Effect
) -> Sending:
    """A further numbered attempt under the same key and a newer fence."""
    release_lease(run)
    take_lease(verb, run, holder=claimed.claim, seconds=LEASE, actor=SYSTEM)
    began, now = time.monotonic(), database_now()
    send_before = min(now + SEND_WITHIN, Grant.objects.get(id=effect.grant).expires_at)
    effect, attempt = next_attempt(
        verb, effect.id, fence=run.fence, send_before=send_before, actor=SYSTEM
    )
    agreed = Envelope(bytes(current_revision(request).envelope))
    return Sending(
        effect_id=effect.id,
        key=bytes(effect.key),
        attempt=attempt.number,
        fence=run.fence,
        tool=Tool.objects.get(id=effect.tool_id),
        arguments=agreed.action.arguments,
        not_after=send_before,
        deadline=began + (send_before - now).total_seconds(),
    )
