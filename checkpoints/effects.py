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
from checkpoints.evidence import (
    Statement,
    keep_also,
    keep_told,
    statement,
    statement_digest,
)
from checkpoints.models import Attempt, Effect, Tool
from checkpoints.queries import attempt_of
from kernel.clock import ClockTimestamp, database_now
from kernel.outcome import Outcome, Passed, Refused
from kernel.problems import declare
from kernel.update import update_exactly_one
from sessions.models import Run
from sessions.queries import found, locked
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
EFFECTS_OPEN: Final = declare(
    "effects_open", status=409, title="What came of its actions is not recorded yet"
)
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
    said = statement(effect.tenant_id, outcome, external_id, evidence, actor)
    if _is_first_word(effect, told):
        keep_told(told, said, outcome=outcome, ended_at=ClockTimestamp())
        _move(verb, effect, told, said, actor)
    elif not _is_repeated(effect, told, outcome, said["external_id"]):
        keep_also(told, "late", said)
        _record(verb, "effect.evidence", actor, effect, _entry(told, said))
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
    attempt = attempt_of(effect, effect.attempt)
    assert attempt is not None
    said = statement(effect.tenant_id, outcome, external_id, evidence, actor)
    keep_also(attempt, "found", said)
    _move(verb, effect, attempt, said, actor)
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


def is_asked_where_sent(effect: Effect, at: bytes | None) -> bool:
    """Whether the tool was asked where it told of keys when this one was sent.

    `at` is `Terms.status_digest` of the tool as it was when it was asked.
    """
    attempt = attempt_of(effect, effect.attempt)
    assert attempt is not None
    return attempt.status_digest is not None and bytes(attempt.status_digest) == at


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
        status_digest=Terms.of(effect.tool).status_digest,
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


def _move(
    verb: Verb, effect: Effect, attempt: Attempt, said: Statement, actor: Actor
) -> None:
    to, came_from = said["outcome"], effect.state
    if to not in MOVES[came_from]:
        raise OUTCOME_CONFLICT(f"It is {came_from}.", state=came_from)
    now = database_now()
    _change(
        effect,
        state=to,
        external_id=said["external_id"],
        # What is unknown is to be looked at at once; a person looks without a clock.
        due_at=now if to == State.UNKNOWN else None,
        ended_at=now if to in ENDED else None,
    )
    data = {"from": came_from, **_entry(attempt, said)}
    _record(verb, f"effect.{to}", actor, effect, data)


def _entry(attempt: Attempt, said: Statement) -> dict[str, Any]:
    """What the audit log says of a statement.

    Its external id and its evidence may have to be erased: the digest is over both.
    """
    return {
        "attempt": attempt.number,
        "outcome": said["outcome"],
        "statement": statement_digest(attempt, said).hex(),
    }


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
