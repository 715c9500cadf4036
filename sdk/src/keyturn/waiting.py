"""Saying that people are waited for, and taking a question back when nobody waits."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable

from keyturn import calls
from keyturn.documents import Approval
from keyturn.errors import KeyturnError
from keyturn.flows import Connection, Flow, Invoke, send

log = logging.getLogger("keyturn")

LAST_PATIENCE = 2.0  # seconds
GAVE_UP = "The program that asked was stopped, and nobody could ask for it again."
STOPPED = (KeyboardInterrupt, SystemExit, asyncio.CancelledError)
Waiting = Callable[[Approval], object]


def say_waiting(approval: Approval) -> None:
    """One line on standard error: what waits for a person, and where."""
    line = f"keyturn: {approval.tool} waits for a person: {approval.review_url}"
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - who waits should see why


def tell_waiting(
    approval: Approval, waiting: Waiting | None, timeout: float | None
) -> Flow[None]:
    """Tell of it when people are about to be waited for."""
    if waiting is not None and approval.next == "wait" and timeout != 0:
        yield Invoke(lambda: waiting(approval), {})


def give_up(
    connection: Connection, approval: Approval, *, reason: str = GAVE_UP
) -> Flow[None]:
    """Take the question back, with the run that opened for it alone.

    Nothing is done once the approval was used: what came of that is found out as after
    any crash. The program may be ending, so that nothing is tried for long.
    """
    try:
        read = calls.get_run(approval.run)
        run = yield from send(connection, read, patience=LAST_PATIENCE)
        if run.asks_only and run.state == "paused":
            end = calls.cancel_run(run.id, fence=run.fence, reason=reason)
            yield from send(connection, end, patience=LAST_PATIENCE)
    except KeyturnError as error:
        log.warning("%s could not be taken back: %s", approval.id, error)
