"""From an approval to its one effect: wait, redeem, act, say what came of it."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from keyturn import calls
from keyturn.calls import Outcome
from keyturn.documents import Approval, Effect, HandedEffect, Redeemed
from keyturn.errors import (
    Answered,
    Conflict,
    Delayed,
    InDoubt,
    KeyturnError,
    NotApproved,
    NothingDone,
    Unreported,
    VerificationRefused,
    ending,
)
from keyturn.flows import (
    Backoff,
    Connection,
    Flow,
    Invoke,
    Sleep,
    claim,
    send,
    wait,
)
from keyturn.waiting import STOPPED, Waiting, give_up, tell_waiting

log = logging.getLogger("keyturn")

R = TypeVar("R")
LEASE_SECONDS = 60
# Until the four checks pass: somebody else is at it, or the question is asked anew.
_PASSING = frozenset({"not_approved", "pause_undecided", "lease_held"})
_acting: ContextVar[_Acting] = ContextVar("keyturn_effect")


def current_effect() -> HandedEffect:
    """Inside a function that was let through: the effect that it is carrying out.

    Hand its `idempotency_key` to whatever is called. Raises LookupError elsewhere.
    """
    return _acting.get().turn.effect


def current_token() -> str:
    """The effect's signed token, for tools that check it. Raises LookupError elsewhere."""
    return _acting.get().turn.redeemed.token


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What may be done now, until `ends` by the connection's clock.

    `approval` is as it was before it was redeemed.
    """

    approval: Approval
    redeemed: Redeemed
    ends: float

    @property
    def effect(self) -> HandedEffect:
        return self.redeemed.effect

    @property
    def is_again(self) -> bool:
        """Whether an earlier attempt was never heard of: what it did, nobody knows."""
        return self.approval.status == "consumed"


@dataclass(frozen=True, slots=True)
class _Acting:
    """A function under way. `of_others` is what functions raised that asked inside it:
    that one of them did nothing is no word about what is done around it."""

    turn: Turn
    of_others: list[BaseException] = field(default_factory=list)

    def is_own(self, error: BaseException) -> bool:
        return not any(error is one for one in self.of_others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(Generic[R]):
    """What is done once it may be done.

    `tool` is the one whose effects it carries out (None: any). `fits` raises if the function cannot take such arguments. `nothing_done` are the
    exceptions after which certainly nothing has happened; every other one leaves the
    outcome unknown. A `repeatable` function may be called again under the same
    idempotency key by a successor of a process that died in it; what it did not do then
    says nothing of the first time, so that only its success is an outcome.
    """

    function: Callable[..., Any]
    tool: str | None = None
    fits: Callable[[Mapping[str, Any]], object] = lambda arguments: None
    nothing_done: tuple[type[BaseException], ...] = ()
    external_id: Callable[[R], str] | None = None
    repeatable: bool = False

    @property
    def failures(self) -> tuple[type[BaseException], ...]:
        return (NothingDone, *self.nothing_done)


def take(
    connection: Connection,
    approval: str,
    action: Action[R],
    *,
    timeout: float | None,
) -> Flow[R]:
    """Wait for the approval, use it up, act with its arguments, report the outcome.

    Raises what `keyturn.errors.ending` names, `VerificationRefused`, and whatever the
    function raises.
    """
    turn = yield from redeem_when_ready(
        connection, approval, timeout=timeout, repeatable=action.repeatable
    )
    return (yield from perform(connection, turn, action))


def redeem_when_ready(
    connection: Connection,
    approval: str,
    *,
    timeout: float | None,
    repeatable: bool = False,
) -> Flow[Turn]:
    """Wait for the approval and use it up, as the run's one writer.

    `timeout` (s) is for people and for what stands in the way of an approved action:
    `Paused`, or `Delayed`. It bounds neither the function nor the time for which an
    absent server is tried, which is the connection's `patience`.

    The claim comes first: of two processes that were told "redeem", the earlier one's
    fence is stale from then on, and the later one sees whether it was too late.
    """
    end = math.inf if timeout is None else connection.now() + timeout
    backoff = Backoff(connection, math.inf if timeout is None else timeout)
    while True:
        left = max(0.0, end - connection.now())
        found = yield from wait(
            connection, approval, timeout=None if timeout is None else left
        )
        _raise_unless_ready(found)
        try:
            turn = yield from _redeem(connection, found, repeatable, left)
        except Conflict as why:
            yield _later(backoff, found, why)
        else:
            if turn is not None:
                return turn


def _redeem(
    connection: Connection, found: Approval, repeatable: bool, left: float
) -> Flow[Turn | None]:
    """The turn; None if somebody else was faster. Raises `Conflict`."""
    fence = yield from claim(
        connection,
        found.run,
        lease_seconds=LEASE_SECONDS,
        patience=min(left, connection.patience),
    )
    found = yield from send(connection, calls.get_approval(found.id))
    if found.status == "consumed" and not repeatable:
        raise ending(found) or InDoubt(found)
    if found.next != "redeem":
        return None
    redeem = calls.redeem_in_time(found.id, fence=fence)
    redeemed, seconds = yield from send(connection, redeem)
    ends = connection.now() + seconds
    return Turn(approval=found, redeemed=redeemed, ends=ends)


def _later(backoff: Backoff, found: Approval, why: Conflict) -> Sleep:
    """How long to wait for what passes; raises `Delayed` when that would be too long."""
    is_final = why.code not in _PASSING
    if isinstance(why, VerificationRefused):
        is_final = why.refusal_class == "stop"
    if is_final:
        raise why
    try:
        return backoff.after(why)
    except Conflict:
        raise Delayed(found) from why


def _raise_unless_ready(found: Approval) -> None:
    why = ending(found)
    if why is not None:
        raise why


def perform(connection: Connection, turn: Turn, action: Action[R]) -> Flow[R]:
    """Act, now that it may happen, and report what came of it.

    Raises `InDoubt` where this attempt did nothing, and an earlier one may have.
    """
    result: R = yield from _carry_out(connection, turn, action)
    try:
        external_id = action.external_id(result) if action.external_id else None
        told = _report(turn.effect, "confirmed", external_id=external_id)
        yield from send(connection, told)
    except Exception as error:
        raise Unreported(turn.approval, result) from error
    return result


def _carry_out(connection: Connection, turn: Turn, action: Action[R]) -> Flow[R]:
    around, acting = _acting.get(None), _Acting(turn)
    token = _acting.set(acting)
    try:
        _check_fit(action, turn.effect)
        _check_time(connection, turn)
        result: R = yield Invoke(action.function, turn.effect.arguments)
    except BaseException as error:  # also an interrupt: it may have happened
        if around is not None:
            around.of_others.append(error)
        nothing_done = isinstance(error, action.failures) and acting.is_own(error)
        yield from _tell_failure(connection, turn, error, nothing_done)
        raise
    finally:
        _acting.reset(token)
    return result


def _tell_failure(
    connection: Connection, turn: Turn, error: BaseException, nothing_done: bool
) -> Flow[None]:
    """Raises `InDoubt` where nothing was done this time: an earlier attempt may have."""
    is_known = nothing_done and not turn.is_again
    outcome: Outcome = "failed" if is_known else "unknown"
    yield from _tell(connection, turn.effect, outcome, error)
    if nothing_done and not is_known:
        raise InDoubt(turn.approval) from error


def _check_fit(action: Action[Any], effect: HandedEffect) -> None:
    if action.tool not in (None, effect.tool):
        raise NothingDone(f"{effect.tool} was handed over, not {action.tool}")
    try:
        action.fits(effect.arguments)
    except TypeError as error:
        raise NothingDone(f"the approved arguments do not fit: {error}") from error


def _check_time(connection: Connection, turn: Turn) -> None:
    """Past its time nobody knows any more whether it may happen."""
    if connection.now() >= turn.ends:
        raise NothingDone(f"the time to act was over at {turn.effect.not_after}")


def _tell(
    connection: Connection, effect: HandedEffect, outcome: Outcome, error: BaseException
) -> Flow[None]:
    """What the function raised matters more than whether this can be told.

    Only the exception's type is told: its message may hold what nobody should read.
    """
    kind = type(error)
    evidence = {"exception": f"{kind.__module__}.{kind.__qualname__}"}
    try:
        yield from send(connection, _report(effect, outcome, evidence=evidence))
    except KeyturnError:
        log.exception("the outcome of %s could not be reported: %s", effect.id, outcome)


def _report(
    effect: HandedEffect,
    outcome: Outcome,
    *,
    external_id: str | None = None,
    evidence: Mapping[str, Any] | None = None,
) -> calls.Call[Any]:
    return calls.report_effect(
        effect.id,
        fence=effect.fencing_token,
        attempt=effect.attempt,
        outcome=outcome,
        external_id=external_id or None,
        evidence=evidence,
    )


# -- In one call ------------------------------------------------------------------------


def ask_and_take(
    connection: Connection,
    asked: calls.Call[Any],
    action: Action[R],
    *,
    timeout: float | None,
    waiting: Waiting | None = None,
    found_again: bool = True,
) -> Flow[R]:
    """Ask in one call, act, and end the run that opened for it.

    `waiting` is told of the question before people are waited for. One that nobody could
    find again (`found_again=False`) is taken back when the program is stopped meanwhile.
    """
    approval: Approval = yield from send(connection, asked)
    try:
        yield from tell_waiting(approval, waiting, timeout)
        return (
            yield from follow_and_end(connection, approval, action, timeout=timeout)
        )
    except STOPPED:
        if not found_again:
            yield from give_up(connection, approval)
        raise


def follow_and_end(
    connection: Connection,
    approval: Approval,
    action: Action[R],
    *,
    timeout: float | None,
) -> Flow[R]:
    """Act on what was asked in one call, and end the run that opened for it."""
    try:
        result = yield from take(connection, approval.id, action, timeout=timeout)
    except (Answered, NotApproved, VerificationRefused) as why:
        yield from end_run(connection, approval.run, reason=str(why)[:2000])
        raise
    except action.failures:
        yield from end_run(connection, approval.run, reason="The action failed.")
        raise
    yield from end_run(connection, approval.run)
    return result


def end_run(connection: Connection, run: str, reason: str = "") -> Flow[None]:
    """Nothing follows in a run that opened for a question alone; any other goes on.

    What is done stays done if it cannot be ended.
    """
    try:
        found = yield from send(connection, calls.get_run(run))
        if found.state != "running" or not found.asks_only:
            return
        fence = found.fence
        end = (
            calls.cancel_run(run, fence=fence, reason=reason)
            if reason
            else calls.complete_run(run, fence=fence)
        )
        yield from send(connection, end)
    except KeyturnError as error:
        log.warning("run %s could not be ended: %s", run, error)


def end_run_of(connection: Connection, effect: Effect, outcome: Outcome) -> Flow[None]:
    """End the run that opened for this effect's question, once nothing of it is left."""
    reason = "The action failed." if outcome == "failed" else ""
    yield from end_run(connection, effect.run, reason=reason)
