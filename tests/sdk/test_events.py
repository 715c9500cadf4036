"""Following what happens, through restarts and broken lines: each event once, in order."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyturn import Ask, Client, Event, NotAuthenticated, Unreachable
from keyturn.events import Following
from keyturn.flows import Connection
from tests.sdk.samples import AT
from tests.sdk.worlds import Real

ASK = Ask(tool="pay", arguments={"amount": "1.00"})
ASKED = "approval.requested"


def until_asked(events: Iterator[Event], times: int = 1) -> list[Event]:
    """The events up to the `times`-th question."""
    found: list[Event] = []
    while [one.type for one in found].count(ASKED) < times:
        found.append(next(events))
    return found


async def until_asked_later(events: AsyncIterator[Event]) -> list[Event]:
    found = [await anext(events)]
    while found[-1].type != ASKED:
        found.append(await anext(events))
    return found


def test_each_event_is_told_once_through_a_restart(real: Real) -> None:
    with real.client() as client, closing(client.stream_events(after=0)) as events:
        first = client.request_approval(ASK)
        told = until_asked(events)
        assert told[-1].data["approval"] == first.id
        real.installation.kill("web")
        second = client.request_approval(ASK)
        told += until_asked(events)
        assert told[-1].data["approval"] == second.id
        with closing(client.stream_events(after=0)) as again:
            assert until_asked(again, 2) == told
        with closing(client.stream_events(after=told[0].number)) as rest:
            assert until_asked(rest, 2 - (told[0].type == ASKED)) == told[1:]
    numbers = [one.number for one in told]
    assert numbers == sorted(set(numbers))
    assert len({one.id for one in told}) == len(told)


def test_the_same_on_an_event_loop(real: Real) -> None:
    async def work() -> list[Event]:
        async with real.async_client() as client:
            events = client.stream_events(after=0)
            first = await client.request_approval(ASK)
            told = await until_asked_later(events)
            await asyncio.to_thread(real.installation.kill, "web")
            second = await client.request_approval(ASK)
            told += await until_asked_later(events)
            await events.aclose()
            asked = [one.data["approval"] for one in told if one.type == ASKED]
            assert asked == [first.id, second.id]
            return told

    told = asyncio.run(work())
    assert len({one.id for one in told}) == len(told)


def test_a_key_that_may_not_read_ends_it(real: Real) -> None:
    with Client(real.url, "kt_live_nobody") as client, pytest.raises(NotAuthenticated):
        next(client.stream_events())


# -- Without a server -------------------------------------------------------------------


class Clock(Connection):
    patience = 60.0


def message(number: int, id: str | None = None) -> bytes:
    said = {"id": id or f"e{number}", "type": "run.paused", "timestamp": AT, "data": {}}
    return f"id: {number}\nevent: run.paused\ndata: {json.dumps(said)}\n\n".encode()


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30))
def test_wherever_it_is_cut_the_events_are_the_same(cuts: list[int]) -> None:
    text = b"retry: 1500\n\n" + message(1) + b": \n\n" + message(2) + message(3)
    following, found = Following(Clock(), None), []
    while text:
        size = cuts[len(text) % len(cuts)]
        found += following.take(text[:size])
        text = text[size:]
    assert [one.number for one in found] == [1, 2, 3]
    with httpx.Client(base_url="http://x/") as http:
        assert following.request(http).headers["Last-Event-ID"] == "3"


def test_what_is_sent_again_is_not_told_again() -> None:
    """Not by its number: after a restore the log may go on with lower ones."""
    following = Following(Clock(), None)
    assert len([*following.take(message(7) + message(8) + message(7))]) == 2
    assert [one.number for one in following.take(message(7, id="other"))] == [7]


def played(*parts: bytes, times: list[float]) -> Client:
    """A client of a server that says each part on a connection of its own, then goes."""
    left = list(parts)

    def answer(request: httpx.Request) -> httpx.Response:
        if not left:
            raise httpx.ConnectError("refused")
        return httpx.Response(200, content=left.pop(0))

    class Played(Client):
        seconds = 0.0

        def now(self) -> float:
            return self.seconds

        def take(self, step: Any) -> Any:
            self.seconds += step.seconds
            times.append(step.seconds)

    return Played("http://localhost", "kt_x", transport=httpx.MockTransport(answer))


def test_patience_ends_and_not_all_come_back_at_the_same_moment() -> None:
    waits: set[float] = set()
    for _ in range(10):
        times: list[float] = []
        cut = message(2) + message(3)[:-20]
        with played(message(1), cut, message(2) + message(3), times=times) as client:
            told: list[int] = []
            with pytest.raises(Unreachable):
                told.extend(one.number for one in client.stream_events())
        assert sum(times) > 250
        assert min(times) > 2
        waits.add(times[0])
    assert len(waits) > 5


def test_a_message_that_was_cut_is_heard_whole() -> None:
    cut = message(2) + message(3)[:-20]
    with played(message(1), cut, message(2) + message(3), times=[]) as client:
        events = client.stream_events()
        assert [next(events).number for _ in range(3)] == [1, 2, 3]
