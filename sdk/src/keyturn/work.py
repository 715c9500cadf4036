"""A run as a context: claimed, kept alive, saved at checkpoints, and picked up again.

    with client.run("TASK-1842", subject="customer-7") as run:
        state = run.state or {"step": "read"}
        run.checkpoint({"step": "compared"}, completed=["read"])
        approval = run.ask(Ask(tool="send", arguments={...}))
        run.complete({"sent": True})

Leaving the block without `complete`, `fail` or `cancel` ends nothing: the next process
that opens the run by the same name goes on from its last checkpoint.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from keyturn import calls, exact, questions
from keyturn.acting import Action, perform, redeem_when_ready
from keyturn.asks import Ask, Fact, Position, given
from keyturn.documents import Approval, Places, RunDocument, Saved, Version
from keyturn.drivers import Async, Operation, Sync
from keyturn.errors import KeyturnError, Unintelligible
from keyturn.flows import Connection, Flow, Step, claim, send, wait
from keyturn.waiting import Waiting, tell_waiting

if TYPE_CHECKING:
    from keyturn.client import AsyncClient, Client

log = logging.getLogger("keyturn")

R = TypeVar("R")
ENDED = frozenset({"completed", "failed", "cancelled"})
_current: ContextVar[Run | AsyncRun | None] = ContextVar("keyturn_run", default=None)


def current_run() -> Run | AsyncRun | None:
    """The run whose block this is called in, or None."""
    return _current.get()


class Work(Connection):
    """What is known of the run here; the server knows better.

    `state` is what the last checkpoint holds, or None before the first.
    """

    def __init__(
        self,
        patience: float,
        name: str,
        *,
        subject: str,
        title: str | None = None,
        workflow: str | None = None,
        lease_seconds: int = 60,
    ) -> None:
        self.patience = patience
        self.name = name
        self.lease_seconds = lease_seconds
        self._serves = given(subject=subject, title=title, external_id=name)
        self._workflow = workflow
        self.document: RunDocument
        self.fence = 0
        self.state: Any = None

    @property
    def id(self) -> str:
        return self.document.id

    @property
    def session(self) -> str:
        return self.document.session

    @property
    def head(self) -> int | None:
        """The number of the newest checkpoint, or None."""
        return self.document.head.number if self.document.head else None

    @property
    def is_ended(self) -> bool:
        return self.document.state in ENDED


# -- Flows ------------------------------------------------------------------------------


def open_work(run: Work) -> Flow[None]:
    """Find or make session and run, claim it, and read its last checkpoint."""
    session = yield from send(run, calls.open_session(**run._serves))
    start = calls.start_or_find_run(
        session.id,
        external_id=run.name,
        workflow=run._workflow,
        lease_seconds=run.lease_seconds,
    )
    run.document, is_new = yield from send(run, start)
    run.fence = run.document.fence
    if run.is_ended:
        return
    if not is_new:
        yield from _claim(run)
    if run.head is not None:
        run.state = yield from _saved_state(run)


def _claim(run: Work) -> Flow[None]:
    run.fence = yield from claim(
        run, run.id, lease_seconds=run.lease_seconds, patience=run.patience
    )
    run.document = yield from send(run, calls.get_run(run.id))


def _saved_state(run: Work) -> Flow[Any]:
    head = yield from send(run, calls.get_checkpoint(run.id, "head"))
    try:
        return json.loads(head.payload) if head.payload else None
    except ValueError as error:
        raise Unintelligible(f"checkpoint {head.number} was not saved here") from error


def refresh(run: Work) -> Flow[RunDocument]:
    """The run as the server has it now; claimed anew if somebody wrote meanwhile."""
    run.document = yield from send(run, calls.get_run(run.id))
    if not run.is_ended and run.document.fence != run.fence:
        yield from _claim(run)
    return run.document


def checkpoint(
    run: Work,
    state: Any,
    *,
    completed: Sequence[str] = (),
    pending: Sequence[str] = (),
    markers: Mapping[str, Any] | None = None,
) -> Flow[Saved]:
    """Save `state`, any JSON, as the position to come back to."""
    position = _position(run, state, completed, pending, markers)
    call = calls.save_checkpoint(run.id, position, fence=run.fence)
    saved = yield from send(run, call)
    run.state = state
    run.document = yield from send(run, calls.get_run(run.id))
    return saved


def _position(
    run: Work,
    state: Any,
    completed: Sequence[str] = (),
    pending: Sequence[str] = (),
    markers: Mapping[str, Any] | None = None,
) -> Position:
    return Position(
        parent=run.head,
        payload=exact.encode(state, in_order=True).decode(),
        completed=completed,
        pending=pending,
        markers=markers,
    )


def record(
    run: Work,
    facts: Mapping[str, Fact] | None = None,
    *,
    reason: str,
    stage: str | None = None,
) -> Flow[Version]:
    """State facts, or move to another stage; 409 `stale_version` if they changed."""
    call = calls.record_transition(
        run.id,
        fence=run.fence,
        expected_version=run.document.version,
        reason=reason,
        facts=facts,
        stage=stage,
    )
    version = yield from send(run, call)
    run.document = yield from send(run, calls.get_run(run.id))
    return version


def say(run: Work, items: Iterable[Any], *, key: str | None = None) -> Flow[Places]:
    """Add to the session's items; with a `key` once, whoever repeats it."""
    call = calls.append_items(
        run.session,
        items,
        run=run.id,
        fence=run.fence,
        key=key and f"{run.id}/{key}",
    )
    return (yield from send(run, call))


def pause(run: Work, asks: Sequence[Ask], *, state: Any = None) -> Flow[list[Approval]]:
    """Ask for several actions at once, from a checkpoint of `state` (default: the last).

    What was asked before in this run is found, not asked again: a question is known by
    its `tool_call_id`, and without one by its tool, arguments and target. Raises
    `KeyReused` where a `tool_call_id` already names something else.
    """
    named = [questions.named(ask) for ask in asks]
    known = yield from questions.asked_before(run, run.id)
    found = {ask.tool_call_id: questions.find(ask, known) for ask in named}
    fresh = [ask for ask in named if found[ask.tool_call_id] is None]
    if fresh:
        run.state = run.state if state is None else state
        call = calls.pause_run(
            run.id, _position(run, run.state), fresh, fence=run.fence
        )
        known += (yield from send(run, call)).requests
    by_name = {one.tool_call_id: one for one in known}
    return [by_name[ask.tool_call_id] for ask in named]


def ask(
    run: Work, ask: Ask, *, state: Any = None, timeout: float | None = None
) -> Flow[Approval]:
    """Ask, and wait until it is the agent's turn, or for `timeout` seconds."""
    (asked,) = yield from pause(run, [ask], state=state)
    found = yield from wait(run, asked.id, timeout=timeout)
    yield from refresh(run)
    return found


def act(
    run: Work,
    ask: Ask,
    action: Action[R],
    *,
    state: Any = None,
    timeout: float | None = None,
    waiting: Waiting | None = None,
) -> Flow[R]:
    """Ask, wait, redeem, act with the approved arguments and report.

    `waiting` is told of the question before people are waited for.
    """
    (asked,) = yield from pause(run, [ask], state=state)
    yield from tell_waiting(asked, waiting, timeout)
    try:
        turn = yield from redeem_when_ready(
            run, asked.id, timeout=timeout, repeatable=action.repeatable
        )
        run.fence = turn.effect.fencing_token
        expected = replace(action, tool=ask.tool)
        return (yield from perform(run, turn, expected))
    finally:
        yield from _catch_up(run)


def _catch_up(run: Work) -> Flow[None]:
    """What came of the action matters more than whether the run can be read again."""
    try:
        yield from refresh(run)
    except KeyturnError as error:
        log.warning("run %s could not be read again: %s", run.id, error)


def complete(run: Work, result: Any = None) -> Flow[RunDocument]:
    """End the run as done."""
    call = calls.complete_run(run.id, fence=run.fence, result=result)
    return (yield from _ended(run, call))


def fail(run: Work, reason: str) -> Flow[RunDocument]:
    """End the run as failed; its open questions are taken back."""
    return (
        yield from _ended(run, calls.fail_run(run.id, fence=run.fence, reason=reason))
    )


def cancel(run: Work, reason: str) -> Flow[RunDocument]:
    """End the run as not wanted; its open questions are taken back."""
    call = calls.cancel_run(run.id, fence=run.fence, reason=reason)
    return (yield from _ended(run, call))


def _ended(run: Work, call: calls.Call[RunDocument]) -> Flow[RunDocument]:
    run.document = yield from send(run, call)
    return run.document


def beat(run: Work) -> Flow[None]:
    """Keep the lease; whoever has lost it is told by the next write."""
    call = calls.heartbeat_run(run.id, fence=run.fence, lease_seconds=run.lease_seconds)
    try:
        yield from send(run, call, patience=run.lease_seconds / 3)
    except KeyturnError as error:
        log.info("no heartbeat for run %s: %s", run.id, error)


class _Operations:
    refresh = Operation(refresh)
    checkpoint = Operation(checkpoint)
    record = Operation(record)
    say = Operation(say)
    pause = Operation(pause)
    ask = Operation(ask)
    act = Operation(act)
    complete = Operation(complete)
    fail = Operation(fail)
    cancel = Operation(cancel)


class Run(_Operations, Work, Sync):
    """A run of a `Client`. Its lease is kept by a thread, at a third of its length."""

    def __init__(self, client: Client, name: str, **options: Any) -> None:
        super().__init__(client.patience, name, **options)
        self._client = client
        self._left = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True)
        self._token: Token[Run | AsyncRun | None]

    def now(self) -> float:
        return self._client.now()

    def take(self, step: Step) -> Any:
        return self._client.take(step)

    def __enter__(self) -> Self:
        self.drive(open_work(self))
        if not self.is_ended:
            self._beating.start()
        self._token = _current.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _current.reset(self._token)
        self._left.set()
        if self._beating.is_alive():
            self._beating.join(timeout=self.lease_seconds)

    def _beat(self) -> None:
        while not self._left.wait(self.lease_seconds / 3):
            if self.is_ended:
                return
            self.drive(beat(self))


class AsyncRun(_Operations, Work, Async):
    """A run of an `AsyncClient`. Its lease is kept by a task."""

    def __init__(self, client: AsyncClient, name: str, **options: Any) -> None:
        super().__init__(client.patience, name, **options)
        self._client = client
        self._beating: asyncio.Task[None] | None = None
        self._token: Token[Run | AsyncRun | None]

    def now(self) -> float:
        return self._client.now()

    async def take(self, step: Step) -> Any:
        return await self._client.take(step)

    async def __aenter__(self) -> Self:
        await self.drive(open_work(self))
        if not self.is_ended:
            self._beating = asyncio.create_task(self._beat())
        self._token = _current.set(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _current.reset(self._token)
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])

    async def _beat(self) -> None:
        while not self.is_ended:
            await asyncio.sleep(self.lease_seconds / 3)
            await self.drive(beat(self))
