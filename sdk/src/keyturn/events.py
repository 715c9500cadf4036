"""Following what happens: server-sent events, read on through every broken connection.

`Following` is what both kinds of client share: it knows where to go on, takes the lines
apart, and says how long to wait before the next try. The clients hold the connection.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx

from keyturn import documents
from keyturn.errors import Unintelligible, Unreachable
from keyturn.flows import Backoff, Busy, Connection, Sleep

PATH = "events"
LAST_SEEN = "Last-Event-ID"
SILENCE = 45.0  # seconds without even a heartbeat (every 15), and it is tried anew
REMEMBERED = 10_000  # ids of events that are not told twice
FIRST_RETRY = 2.0  # seconds, until the server says otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to the agent's work; `number` is where to go on after it.

    `data` carries ids, digests and states: read the approval or the run before acting.
    """

    number: int
    id: str
    type: str
    timestamp: datetime
    data: dict[str, Any]


class Following:
    """Where a stream has come to. `after` is the number of the last event that is known."""

    def __init__(self, connection: Connection, after: int | None) -> None:
        self._connection = connection
        self._after = after
        self._told: deque[str] = deque(maxlen=REMEMBERED)
        self._retry = FIRST_RETRY
        self._backoff = Backoff(connection)
        self._lines = Lines()

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """The next connection: what follows the last event comes first."""
        known = {} if self._after is None else {LAST_SEEN: str(self._after)}
        headers = {"Accept": "text/event-stream", **known}
        limit = httpx.Timeout(10.0, read=SILENCE)
        self._lines = Lines()
        return http.build_request("GET", PATH, headers=headers, timeout=limit)

    def begun(self) -> None:
        """The server is there: patience begins anew."""
        self._backoff = Backoff(self._connection)

    def take(self, part: bytes) -> Iterator[Event]:
        """The events that are whole with this part, each told once."""
        for fields in self._lines.take(part):
            if "retry" in fields and fields["retry"].isdecimal():
                self._retry = int(fields["retry"]) / 1000
            if "data" in fields:
                yield from self._once(_event(fields))

    def _once(self, event: Event) -> Iterator[Event]:
        # Numbers alone do not tell: after a restore the log may be a shorter one.
        self._after = event.number
        if event.id not in self._told:
            self._told.append(event.id)
            yield event

    def again(self, why: httpx.TransportError | Busy | None) -> Sleep:
        """How long to wait now. Raises `Unreachable` or `Busy` when patience is over."""
        if isinstance(why, Busy):
            return self._backoff.after(why, max(why.retry_after, self._retry))
        said = "the stream ended" if why is None else type(why).__name__
        return self._backoff.after(Unreachable(f"{PATH}: {said}"), self._retry)


class Lines:
    """Takes a stream apart: the fields of each message, once its blank line is there."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[str, str] = {}

    def take(self, part: bytes) -> Iterator[dict[str, str]]:
        *whole, self._rest = (self._rest + part).split(b"\n")
        for line in whole:
            yield from self._line(line.decode().removesuffix("\r"))

    def _line(self, line: str) -> Iterator[dict[str, str]]:
        if not line:
            fields, self._fields = self._fields, {}
            if fields:
                yield fields
            return
        name, _, value = line.partition(":")
        if name:  # a line that begins with a colon is a comment: a heartbeat
            value = value.removeprefix(" ")
            before = f"{self._fields[name]}\n" if name in self._fields else ""
            self._fields[name] = before + value


def _event(fields: dict[str, str]) -> Event:
    try:
        told = {**json.loads(fields["data"]), "number": int(fields["id"])}
    except (KeyError, TypeError, ValueError) as error:
        raise Unintelligible("this is no event") from error
    return documents.read(Event, told)
