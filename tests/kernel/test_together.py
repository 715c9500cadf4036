"""Reading for many at once."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError

from kernel.together import AT_ONCE, Together
from tests.approvals.wait.asynchronous import on_a_loop, until


class Readings:
    """What was read, in order; each reading is held until it may go on."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, list[Any]]] = []
        self.may_end = threading.Event()

    def read(self, lane: str, items: list[Any]) -> dict[Any, Any]:
        self.seen.append((lane, items))
        assert lane == "free" or self.may_end.wait(20)
        if "spoilt" in items:
            raise RuntimeError("spoilt")
        if "absent" in items:
            raise OperationalError("absent")
        number = len(self.seen)
        return {one: KeyError(one) if one == "bad" else number for one in items}


@pytest.fixture
def readings() -> Iterator[Readings]:
    made = Readings()
    yield made
    made.may_end.set()


def test_who_asks_while_a_reading_runs_is_read_for_afterwards_and_together(
    readings: Readings,
) -> None:
    together = Together(readings.read)

    async def story() -> list[Any]:
        first = asyncio.create_task(together.ask("a", "x"))
        await until(lambda: readings.seen)
        later = [
            asyncio.create_task(together.ask("a", item)) for item in ("x", "y", "x")
        ]
        assert await together.ask("free", "x") == 2
        assert not first.done()
        readings.may_end.set()
        return await asyncio.gather(first, *later)

    assert on_a_loop(story())[1:] == [3, 3, 3]
    assert readings.seen == [("a", ["x"]), ("free", ["x"]), ("a", ["x", "y"])]
    assert not together._coming


def test_what_is_wrong_with_one_is_no_others(readings: Readings) -> None:
    readings.may_end.set()
    together = Together(readings.read)

    async def story() -> list[Any]:
        asked = [together.ask("a", item) for item in ("good", "bad")]
        told = await asyncio.gather(*asked, return_exceptions=True)
        for wrong in ("spoilt", "absent"):
            failed = [together.ask("a", item) for item in ("one", wrong, "two")]
            told += await asyncio.gather(*failed, return_exceptions=True)
        return [*told, await together.ask("a", "afterwards")]

    told = on_a_loop(story())
    assert [type(one) for one in told] == [
        int,
        KeyError,
        *(int, RuntimeError, int),
        *[OperationalError] * 3,
        int,
    ]


def test_who_leaves_takes_nothing_from_those_who_stay(readings: Readings) -> None:
    together = Together(readings.read)

    async def story() -> int:
        leaving, staying = (asyncio.create_task(together.ask("a", "x")) for _ in "ab")
        await until(lambda: readings.seen)
        leaving.cancel()
        readings.may_end.set()
        return await staying

    assert on_a_loop(story()) == 1


def test_one_reading_is_for_so_many_and_no_more(readings: Readings) -> None:
    readings.may_end.set()
    together = Together(readings.read)

    async def story() -> None:
        asked = (together.ask("a", number) for number in range(AT_ONCE + 1))
        await asyncio.gather(*asked)

    on_a_loop(story())
    assert [len(items) for _, items in readings.seen] == [AT_ONCE, 1]
