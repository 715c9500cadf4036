"""One LISTEN per process, fanned out to whoever waits for an id.

A waiter registers, reads, waits, and reads again: in any other order a change between
reading and registering is lost. A notification is a hint; what it hints at is read
afresh. So that a lost one costs seconds and never a decision, the hub itself looks every
few seconds at everything that is waited for, in one query for each tenant, and after
every reconnection; it wakes those whose rows were written since.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Final
from uuid import UUID

import psycopg
import structlog
from django.db import DatabaseError, connections

from approvals.queries import versions
from kernel.offload import offload, release_thread
from kernel.scope import tenant_transaction
from kernel.together import Together
from tenants.verbs import CHANNEL

LOOK_AGAIN: Final = 5.0  # seconds: what a lost notification may cost
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

    def __init__(self, *, look_again: float = LOOK_AGAIN) -> None:
        self._look_again = look_again
        self._waiters: dict[str, set[News]] = defaultdict(set)
        self._versions: dict[str, str] = {}
        self._listener: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def waiting(self, *topics: str) -> AsyncIterator[News]:
        """News of these topics, from before the block begins.

        Read what the topics are about inside the block, and before waiting.
        """
        news = News()
        self._listen()
        for topic in topics:
            self._waiters[topic].add(news)
        try:
            await self._look_first([one for one in topics if self._is_unseen(one)])
            release_thread()
            yield news
        finally:
            for topic in topics:
                self._forget(topic, news)

    async def _look_first(self, topics: Collection[str]) -> None:
        """With all who come at the same time."""
        asked = (_first_versions.ask(*_parts(topic)) for topic in topics)
        for topic, version in zip(topics, await asyncio.gather(*asked), strict=True):
            self._note(topic, version)

    def _is_unseen(self, topic: str) -> bool:
        return topic not in self._versions

    def _forget(self, topic: str, news: News) -> None:
        self._waiters[topic].discard(news)
        if not self._waiters[topic]:
            del self._waiters[topic]
            self._versions.pop(topic, None)

    def _listen(self) -> None:
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._run())

    async def _run(self) -> None:
        """Listen for ever; look at once, again and again, and after reconnecting."""
        while True:
            try:
                async with await _connect() as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    await self._follow(connection)
            except (psycopg.Error, DatabaseError, OSError) as error:
                log.warning("listen_lost", error=str(error))
            await asyncio.sleep(RECONNECT_AFTER)

    async def _follow(self, connection: "Listening") -> None:
        while not connection.closed:
            await self._look(list(self._waiters))
            async for notification in connection.notifies(timeout=self._look_again):
                self._wake(notification.payload)

    async def _look(self, topics: Collection[str]) -> None:
        """Read the topics' versions, and wake whoever waits for one that differs.

        Looks may overtake each other: that wakes somebody in vain, and loses nothing.
        """
        if not topics:
            return
        for topic, version in (await offload(_versions, topics)).items():
            self._note(topic, version)

    def _note(self, topic: str, version: str | None) -> None:
        if topic not in self._waiters or version is None:
            return
        if self._versions.get(topic, version) != version:
            self._wake(topic)
        self._versions[topic] = version

    def _wake(self, topic: str) -> None:
        for news in self._waiters.get(topic, ()):
            news.tell(topic)


def _versions(topics: Collection[str]) -> dict[str, str]:
    """One query for each tenant, each in its own scope."""
    found: dict[str, str] = {}
    for tenant, ids in _by_tenant(topics).items():
        now = _versions_in(tenant, ids).items()
        found |= {f"{tenant}:{id}": version for id, version in now if version}
    return found


def _versions_in(tenant: UUID, ids: Collection[UUID]) -> dict[UUID, str | None]:
    with tenant_transaction(tenant):
        now = versions(ids)
    return {id: now.get(id) for id in ids}


_first_versions: Final = Together(_versions_in)


def _by_tenant(topics: Collection[str]) -> Mapping[UUID, list[UUID]]:
    grouped: dict[UUID, list[UUID]] = defaultdict(list)
    for topic in topics:
        tenant, id = _parts(topic)
        grouped[tenant].append(id)
    return grouped


def _parts(topic: str) -> tuple[UUID, UUID]:
    tenant, _, id = topic.partition(":")
    return UUID(tenant), UUID(id)


type Listening = psycopg.AsyncConnection[tuple[object, ...]]


async def _connect() -> Listening:
    """A connection of its own, direct, outside the pool: LISTEN belongs to it."""
    given = connections["default"].get_connection_params()
    libpq = {name: value for name, value in given.items() if name not in DJANGOS_OWN}
    return await psycopg.AsyncConnection.connect(**libpq, autocommit=True)


DJANGOS_OWN: Final = frozenset({"context", "cursor_factory", "prepare_threshold"})

_hubs: dict[asyncio.AbstractEventLoop, Hub] = {}  # a server has one loop, for good


def hub() -> Hub:
    """The running event loop's hub."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub()
    return _hubs[loop]
