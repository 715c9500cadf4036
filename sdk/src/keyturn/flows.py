"""What takes several steps, written once for threads and for event loops.

A flow is a generator: it yields the next thing to do, and is given what came of it. It
neither sends, sleeps nor calls anything itself; `keyturn.drivers` does.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import httpx

from keyturn import calls
from keyturn.calls import Answer, Call, Until
from keyturn.documents import Approval
from keyturn.errors import Conflict, Refused, Unreachable

log = logging.getLogger("keyturn")

T = TypeVar("T")
P = ParamSpec("P")

LONGEST_WAIT = 50  # seconds a long poll stays open, below the server's limit of 60
LONGEST_PAUSE = 10.0  # seconds between two attempts, unless the server asks for more
MOST_ASKED_FOR = 300.0  # seconds that a Retry-After is believed


@dataclass(frozen=True, slots=True)
class Transmit:
    """Send once; `httpx.TransportError` or `Refused` comes back as an exception."""

    call: Call[Any]


@dataclass(frozen=True, slots=True)
class Sleep:
    seconds: float


@dataclass(frozen=True, slots=True)
class Invoke:
    """Call a function of the user's, and wait for what it returns."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]


Step: TypeAlias = Transmit | Sleep | Invoke
Flow: TypeAlias = Generator[Step, Any, T]


class Connection:
    """What flows need to know of whoever drives them.

    `patience` is for how many seconds an absent server is tried again.
    """

    patience: float

    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()


class Busy(Refused):
    """429 and 503: `retry_after` is for how many seconds the server wants peace."""

    retry_after: float = 0.0


def call(make: Callable[P, Call[T]]) -> Callable[Concatenate[Connection, P], Flow[T]]:
    """The flow of a single call."""

    def flow(connection: Connection, /, *args: P.args, **kwargs: P.kwargs) -> Flow[T]:
        return (yield from send(connection, make(*args, **kwargs)))

    flow.__doc__ = make.__doc__
    return flow


def send(
    connection: Connection, call: Call[T], *, patience: float | None = None
) -> Flow[T]:
    """Send, and again after whatever passes by itself. Always the very same request.

    Raises `Unreachable` when patience is over, `Refused` for every other answer.
    """
    backoff = Backoff(connection, patience)
    while True:
        try:
            answer: Answer = yield Transmit(call)
        except httpx.TransportError as error:
            yield backoff.after(Unreachable(_unreached(call.path, error)))
        except Busy as busy:
            yield backoff.after(busy, busy.retry_after)
        except Conflict as conflict:
            if conflict.code != "idempotency_in_flight":
                raise
            yield backoff.after(conflict)
        else:
            return call.read(answer)


def _unreached(path: str, error: httpx.TransportError) -> str:
    """Where it was tried, since most often the address is the wrong one."""
    said = f"{path}: {type(error).__name__}"
    try:
        address = error.request.url
    except RuntimeError:  # it was raised by hand
        return said
    return f"{said} at {address.scheme}://{address.netloc.decode()}"


class Backoff:
    """Waits a little longer each time, never all clients at once, and not for ever."""

    def __init__(self, connection: Connection, patience: float | None = None) -> None:
        self._now = connection.now
        limit = connection.patience if patience is None else patience
        self._end = self._now() + limit
        self._times = 0

    def after(self, why: Exception, asked: float = 0.0) -> Sleep:
        """How long to wait now; raises `why` when that would be too long."""
        self._times += 1
        longest = min(LONGEST_PAUSE, 0.1 * 2 ** min(self._times, 10))
        jitter = random.uniform(longest / 2, longest)  # noqa: S311 - no secret
        # What the server asks for is the least; all would come back at once otherwise.
        seconds = min(asked, MOST_ASKED_FOR) + jitter
        if self._now() + seconds > self._end:
            raise why
        if self._times in (1, 5) or self._times % 20 == 0:
            log.warning("trying again in %.1f s: %s", seconds, why)
        return Sleep(seconds)


def is_over(approval: Approval, until: Until) -> bool:
    """Whether there is something for the agent to do, or to know."""
    if until == "decided":
        return approval.status != "pending"
    return approval.next != "wait"


def wait(
    connection: Connection,
    approval: str,
    *,
    until: Until = "done",
    timeout: float | None = None,
) -> Flow[Approval]:
    """Wait until it is the agent's turn (`done`) or somebody has answered (`decided`).

    After `timeout` seconds it returns what there is; with None it waits as long as it
    takes, also through restarts of the server.
    """
    end = math.inf if timeout is None else connection.now() + timeout
    known = None
    while True:
        left = max(0.0, end - connection.now())
        asked = math.ceil(min(left, LONGEST_WAIT))
        poll = calls.poll_approval(approval, known, wait=asked, until=until)
        patience = max(left, connection.patience)
        known = yield from send(connection, poll, patience=patience)
        if is_over(known.approval, until) or connection.now() >= end:
            return known.approval


def claim(
    connection: Connection, run: str, *, lease_seconds: int, patience: float
) -> Flow[int]:
    """Become the run's writer, after whoever is it now; the new fence."""
    backoff = Backoff(connection, patience)
    while True:
        try:
            made = calls.claim_run(run, lease_seconds=lease_seconds)
            return (yield from send(connection, made)).fence
        except Conflict as conflict:
            if conflict.code != "lease_held":
                raise
            yield backoff.after(conflict)
