"""Reading for many at once: who asks while a reading runs is answered by the next one.

What one reading costs it costs once, for however many came meanwhile. Nobody is given
what was read before they asked, and nobody waits while nothing runs.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import Context
from itertools import islice
from typing import Any, Final

from django.db import InterfaceError, OperationalError

from kernel.offload import offload
from kernel.problems import Problem

AT_ONCE: Final = 200
"""More are not read in one transaction."""
PAUSE: Final = 0.02
"""Seconds between two readings: what comes together is read together."""

type _Asked[Item, Found] = dict[Item, asyncio.Future[Found]]


class Together[Lane, Item, Found]:
    """Reads, on a thread, for all who ask in the same lane; lanes do not wait for each
    other.

    `read(lane, items)` answers each of the items with what was found, or with the
    exception that is to be raised for it. What it raises itself only those get who have
    it when they are read for alone; an absent database, all of them.
    """

    def __init__(
        self, read: Callable[[Lane, list[Item]], Mapping[Item, Found | Exception]]
    ) -> None:
        self._read = read
        self._coming: dict[tuple[Any, Lane], _Asked[Item, Found]] = {}
        self._serving: set[asyncio.Task[None]] = set()

    async def ask(self, lane: Lane, item: Item) -> Found:
        """What is found for this item, by a reading that begins after this call."""
        here = (asyncio.get_running_loop(), lane)
        if here not in self._coming:
            self._begin(here)
        future = self._coming[here].setdefault(item, here[0].create_future())
        return await asyncio.shield(future)

    def _begin(self, here: tuple[Any, Lane]) -> None:
        self._coming[here] = {}
        # Of no request: what is logged there belongs to none of those who asked.
        task = asyncio.create_task(self._serve(here), context=Context())
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, here: tuple[Any, Lane]) -> None:
        try:
            while asked := self._take(here):
                await self._answer(here[1], asked)
                await asyncio.sleep(PAUSE if self._coming[here] else 0)
        finally:
            for future in self._coming.pop(here).values():
                future.cancel()

    def _take(self, here: tuple[Any, Lane]) -> _Asked[Item, Found]:
        coming = self._coming[here]
        return {item: coming.pop(item) for item in list(islice(coming, AT_ONCE))}

    async def _answer(self, lane: Lane, asked: _Asked[Item, Found]) -> None:
        found = await self._found(lane, list(asked))
        for future, answer in zip(asked.values(), found, strict=True):
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    async def _found(self, lane: Lane, items: list[Item]) -> list[Found | Exception]:
        try:
            read = await offload(self._read, lane, items)
            return [read[item] for item in items]
        except (OperationalError, InterfaceError, Problem) as error:
            return [error] * len(items)
        except Exception as error:
            if len(items) == 1:
                return [error]
        # One of them is to blame: halves lead to it with the fewest readings.
        half = len(items) // 2
        first = await self._found(lane, items[:half])
        return first + await self._found(lane, items[half:])
