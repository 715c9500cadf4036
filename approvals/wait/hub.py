"""One LISTEN per process, fanned out to whoever waits for an id.

A waiter registers, reads, waits, and reads again: in any other order a change between
reading and registering is lost. A notification is a hint; what it hints at is read
afresh, so a lost one costs the seconds until the next look, never a decision.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Final

import psycopg
import structlog
from django.db import connections

from tenants.verbs import CHANNEL

RECONNECT_AFTER: Final = 1.0  # seconds
log = structlog.get_logger(__name__)


class News(asyncio.Event):
    """Set when something changed; `take` says which topics, and begins anew."""

    def __init__(self) -> None:
        super().__init__()
        self._topics: set[str] = set()

    def tell(self, topic: str) -> None:
        self._topics.add(topic)
        self.set()

    def take(self) -> set[str]:
        topics, self._topics = self._topics, set()
        self.clear()
        return topics


class Hub:
    """Belongs to one event loop. Waiters are keyed by "tenant:id"."""

    def __init__(self) -> None:
        self._waiters: dict[str, set[News]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def waiting(self, *topics: str) -> AsyncIterator[News]:
        """An event that is set whenever one of the topics changed, or may have."""
        news = News()
        self._listen()
        for topic in topics:
            self._waiters[topic].add(news)
        try:
            yield news
        finally:
            for topic in topics:
                self._forget(topic, news)

    def _forget(self, topic: str, news: News) -> None:
        self._waiters[topic].discard(news)
        if not self._waiters[topic]:
            del self._waiters[topic]

    def _listen(self) -> None:
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._run())

    async def _run(self) -> None:
        """Listen for ever; after each reconnection everybody looks again."""
        while True:
            try:
                async with await _connect() as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    self._wake_all()
                    async for notification in connection.notifies():
                        self._wake(notification.payload)
            except psycopg.Error as error:
                log.warning("listen_lost", error=str(error))
            await asyncio.sleep(RECONNECT_AFTER)

    def _wake(self, topic: str) -> None:
        for news in self._waiters.get(topic, ()):
            news.tell(topic)

    def _wake_all(self) -> None:
        for topic in list(self._waiters):
            self._wake(topic)


async def _connect() -> psycopg.AsyncConnection[tuple[object, ...]]:
    """A connection of its own, direct, outside the pool: LISTEN belongs to it."""
    wrapper = connections["default"]
    given = wrapper.get_connection_params()
    options = {name: given[name] for name in KEPT if given.get(name) is not None}
    return await psycopg.AsyncConnection.connect(**options, autocommit=True)


KEPT: Final = ("dbname", "user", "password", "host", "port", "sslmode", "sslrootcert")

_hubs: dict[int, Hub] = {}


def hub() -> Hub:
    """The running event loop's hub."""
    return _hubs.setdefault(id(asyncio.get_running_loop()), Hub())
