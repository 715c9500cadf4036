"""The steps an effect can take, for use inside a verb that has locked its run.

None of these opens a transaction or sends anything. What is said of an effect is
either the first word on it, the same word again, or evidence; never a second truth.
"""

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from audit.append import Actor
from checkpoints.definition import Terms
from checkpoints.models import Attempt, Effect, Tool
from checkpoints.queries import attempt_of
from kernel.canonical import canonical_bytes
from kernel.clock import ClockTimestamp, database_now
from kernel.outcome import Outcome, Passed, Refused
from kernel.problems import declare
from kernel.update import update_exactly_one
from sessions.models import Run
from sessions.queries import found, locked
from sessions.redaction import redacted
from sessions.runs import STALE_WRITER
from tenants.verbs import Verb

OUTCOME_CONFLICT: Final = declare(
    "outcome_conflict", status=409, title="Another outcome was recorded for this"
)
ATTEMPT_UNKNOWN: Final = declare(
    "attempt_unknown", status=409, title="There was no such attempt"
)
ACTED_ALREADY: Final = declare(
    "acted_already", status=409, title="This action has a live or confirmed effect"
)
NOT_PROVED: Final = declare(
    "not_proved", status=409, title="This cannot be concluded about the effect now"
)
EVIDENCE_TOO_LARGE: Final = declare(
    "evidence_too_large", status=422, title="The evidence is too large"
)

MAX_EVIDENCE: Final = 16 * 1024  # bytes of canonical JSON
MAX_LATE: Final = 20  # further reports kept with an attempt

State = Effect.State
MOVES: Final[Mapping[str, frozenset[str]]] = {
    State.INTENDED: frozenset({State.STARTED}),
    State.STARTED: frozenset(
        {State.CONFIRMED, State.FAILED, State.UNKNOWN, State.ABSENT}
    ),
    State.UNKNOWN: frozenset(
        {State.CONFIRMED, State.FAILED, State.ABSENT, State.NEEDS_ATTENTION}
    ),
    State.NEEDS_ATTENTION: frozenset({State.CONFIRMED, State.FAILED, State.ABSENT}),
    State.CONFIRMED: frozenset(),
    State.FAILED: frozenset(),
    State.ABSENT: frozenset(),
}
AGAIN: Final = frozenset({State.UNKNOWN, State.ABSENT})
"""From here one more attempt may start the effect anew, if `may_try_again`."""
ENDED: Final = frozenset(state for state, following in MOVES.items() if not following)


def lock_effect(effect_id: UUID) -> Effect:
    """Hold the effect and its attempts, with the tool at hand. Lock the run first."""
    return found(locked(Effect).select_related("tool").filter(id=effect_id))


def start_effect(
    verb: Verb,
    *,
    run: Run,
    tool: Tool,
    request_id: UUID,
    grant_id: UUID,
    key: bytes,
    action: bytes,
    fence: int,
    send_before: datetime,
    actor: Actor,
) -> tuple[Effect, Attempt]:
    """Record that an action is about to happen, before anything is sent.

    `send_before` is by the database's clock. Raises `acted_already` (409) if the same
    action of the same request is under way or done.
    """
    _refuse_second(run, key)
    effect = Effect.objects.create(
        tenant_id=run.tenant_id,
        run=run,
        tool=tool,
        request=request_id,
        grant=grant_id,
        key=key,
        action=action,
        state=State.STARTED,
        due_at=_answer_due(tool, send_before),
    )
    attempt = _add_attempt(effect, fence, send_before)
    data = {"key": key.hex(), "request": str(request_id), "fence": fence}
    _record(verb, "effect.started", actor, effect, data)
    return effect, attempt


def record_outcome(
    verb: Verb,
    effect_id: UUID,
    *,
    attempt: int,
    fence: int,
    outcome: str,
    external_id: str = "",
    evidence: Mapping[str, Any] | None = None,
    actor: Actor,
) -> Effect:
    """Take what the sender of an attempt says came of it, and lock the effect.

    The same again changes nothing. Once the attempt is unknown, whatever else is said
    is kept as evidence, and the state stays: compare it before and after. Raises
    `stale_writer`, `outcome_conflict`, `attempt_unknown` (409).
    """
    if outcome not in MOVES[State.STARTED]:
        raise ValueError(f"{outcome!r} is not an outcome of an attempt")
    effect = lock_effect(effect_id)
    told = attempt_of(effect, attempt)
    if told is None:
        raise ATTEMPT_UNKNOWN()
    if told.fence != fence:
        raise STALE_WRITER("The attempt was made under another fence.")
    clean = clean_evidence(evidence)
    if _is_first_word(effect, told):
        _end_attempt(told, outcome, clean)
        _move(verb, effect, outcome, external_id=external_id, actor=actor)
    elif not _is_repeated(effect, told, outcome, external_id):
        _keep_late(verb, effect, told, outcome, external_id, clean, actor)
    return effect


def settle_effect(
    verb: Verb,
    effect_id: UUID,
    *,
    outcome: str,
    external_id: str = "",
    evidence: Mapping[str, Any],
    actor: Actor,
    asked: float | None = None,
) -> Effect:
    """Give an unknown effect the outcome that was found out, or leave it to a person.

    By reconciling, or by a person with evidence. Raises `outcome_conflict` (409) for
    any other effect; `not_proved` (409) for `absent` while `absence_proved` refuses,
    where `asked` is explained.
    """
    effect = lock_effect(effect_id)
    if effect.state not in {State.UNKNOWN, State.NEEDS_ATTENTION}:
        raise OUTCOME_CONFLICT(f"It is {effect.state}.")
    if outcome == State.ABSENT:
        _require(absence_proved(effect, asked=asked))
    _move(
        verb,
        effect,
        outcome,
        external_id=external_id,
        evidence=clean_evidence(evidence),
        actor=actor,
    )
    return effect


def next_attempt(
    verb: Verb, effect_id: UUID, *, fence: int, send_before: datetime, actor: Actor
) -> tuple[Effect, Attempt]:
    """Start the effect once more, under the same key. Raises `not_proved` (409)."""
    effect = lock_effect(effect_id)
    _require(may_try_again(effect))
    _change(
        effect,
        state=State.STARTED,
        attempt=effect.attempt + 1,
        due_at=_answer_due(effect.tool, send_before),
        ended_at=None,
    )
    attempt = _add_attempt(effect, fence, send_before)
    data = {"attempt": attempt.number, "fence": fence}
    _record(verb, "effect.started", actor, effect, data)
    return effect, attempt


def may_try_again(effect: Effect) -> Outcome:
    """Whether one more send could not become a second effect."""
    terms = Terms.of(effect.tool)
    if effect.state not in AGAIN:
        return Refused("effects.not_open", f"It is {effect.state}.", "stop")
    if effect.attempt >= terms.attempts:
        return Refused("effects.attempts_used", "Every attempt was used.", "stop")
    if effect.state == State.UNKNOWN and not terms.resend:
        reason = "The tool might act twice, and nothing says that it did not act."
        return Refused("effects.resend_unsafe", reason, "stop")
    return Passed({"attempt": effect.attempt + 1})


def absence_proved(effect: Effect, *, asked: float | None = None) -> Outcome:
    """Whether the tool's not knowing of it means that it did not happen.

    Only if it was asked once the last send could no longer be under way: after its
    deadline and the time in which the tool settles, by the database's clock. `asked`
    is when, by this process's monotonic clock; without it, now.
    """
    attempt = attempt_of(effect, effect.attempt)
    assert attempt is not None
    settled = attempt.send_before + Terms.of(effect.tool).settle
    since = timedelta(seconds=0 if asked is None else time.monotonic() - asked)
    if database_now() - since < settled:
        at = {"settled_at": settled.isoformat()}
        return Refused("effects.settling", "It may still be under way.", "wait", at)
    return Passed()


def clean_evidence(evidence: Mapping[str, Any] | None) -> dict[str, Any]:
    """Bounded, strict and without credentials. Raises `evidence_too_large` (422)."""
    value = dict(evidence or {})
    if len(canonical_bytes(value)) > MAX_EVIDENCE:
        raise EVIDENCE_TOO_LARGE(f"At most {MAX_EVIDENCE} bytes.", "/evidence")
    clean, kinds = redacted(value)
    if not isinstance(clean, dict):
        clean = {"evidence": clean}
    return {**clean, "redacted": kinds} if kinds else clean


def _refuse_second(run: Run, key: bytes) -> None:
    rows = Effect.objects.filter(tenant_id=run.tenant_id, key=key)
    if rows.exclude(state__in=[State.FAILED, State.ABSENT]).exists():
        raise ACTED_ALREADY()


def _answer_due(tool: Tool, send_before: datetime) -> datetime:
    return send_before + timedelta(seconds=Terms.of(tool).timeout)


def _add_attempt(effect: Effect, fence: int, send_before: datetime) -> Attempt:
    return Attempt.objects.create(
        tenant_id=effect.tenant_id,
        effect=effect,
        number=effect.attempt,
        fence=fence,
        send_before=send_before,
    )


def _is_first_word(effect: Effect, told: Attempt) -> bool:
    return (
        effect.state == State.STARTED
        and effect.attempt == told.number
        and not told.outcome
    )


def _is_repeated(effect: Effect, told: Attempt, outcome: str, external_id: str) -> bool:
    """The same word again. Raises `outcome_conflict` for a word against a known end."""
    if outcome in {told.outcome, effect.state} and external_id in {
        "",
        effect.external_id,
    }:
        return True
    if told.outcome != State.UNKNOWN or effect.state in {State.CONFIRMED, State.FAILED}:
        raise OUTCOME_CONFLICT(f"It is {effect.state}.", state=effect.state)
    return False


def _keep_late(
    verb: Verb,
    effect: Effect,
    told: Attempt,
    outcome: str,
    external_id: str,
    evidence: dict[str, Any],
    actor: Actor,
) -> None:
    late = {"outcome": outcome, "external_id": external_id, "evidence": evidence}
    kept = [*told.evidence.get("late", []), late][-MAX_LATE:]
    rows = Attempt.objects.filter(tenant_id=told.tenant_id, id=told.id)
    update_exactly_one(rows, evidence={**told.evidence, "late": kept})
    _record(verb, "effect.evidence", actor, effect, {"attempt": told.number, **late})


def _end_attempt(told: Attempt, outcome: str, evidence: dict[str, Any]) -> None:
    rows = Attempt.objects.filter(tenant_id=told.tenant_id, id=told.id, outcome="")
    end = {"outcome": outcome, "evidence": evidence, "ended_at": ClockTimestamp()}
    update_exactly_one(rows, **end)


def _move(
    verb: Verb,
    effect: Effect,
    to: str,
    *,
    external_id: str,
    actor: Actor,
    evidence: Mapping[str, Any] | None = None,
) -> None:
    if to not in MOVES[effect.state]:
        raise OUTCOME_CONFLICT(f"It is {effect.state}.", state=effect.state)
    now, came_from = database_now(), effect.state
    _change(
        effect,
        state=to,
        external_id=external_id,
        # What is unknown is to be looked at at once; a person looks without a clock.
        due_at=now if to == State.UNKNOWN else None,
        ended_at=now if to in ENDED else None,
    )
    data = {"from": came_from, "attempt": effect.attempt, "external_id": external_id}
    more = {} if evidence is None else {"evidence": dict(evidence)}
    _record(verb, f"effect.{to}", actor, effect, {**data, **more})


def _require(outcome: Outcome) -> None:
    if isinstance(outcome, Refused):
        raise NOT_PROVED(outcome.reason, reason=outcome.code)


def _change(effect: Effect, **to: Any) -> None:
    rows = Effect.objects.filter(
        tenant_id=effect.tenant_id,
        id=effect.id,
        state=effect.state,
        attempt=effect.attempt,
    )
    update_exactly_one(rows, **to)
    for name, value in to.items():
        setattr(effect, name, value)


def _record(
    verb: Verb, kind: str, actor: Actor, effect: Effect, data: dict[str, Any]
) -> None:
    verb.record(kind, actor=actor, subject=("effect", effect.id), data=data)
    verb.changed(effect.run_id, effect.request)
