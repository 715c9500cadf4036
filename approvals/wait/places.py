"""How many waits one key may hold open in this process: no caller takes all of it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from tenants.rest.exceptions import TOO_MANY

COME_AGAIN: Final = 5  # seconds


class Places:
    """Counted on one event loop, so that nothing needs a lock.

    A place belongs to the task that answers the request: once that is done the place is
    free, even if nobody has closed what it was streaming.
    """

    def __init__(self) -> None:
        self._taken: dict[UUID, list[asyncio.Task[Any] | None]] = {}

    def held(self, key_id: UUID) -> int:
        """How many places the key holds now."""
        held = self._taken.get(key_id, [])
        held[:] = [task for task in held if task is None or not task.done()]
        return len(held)

    @contextmanager
    def one(self, key_id: UUID) -> Iterator[None]:
        """Hold one place for as long as the block lasts.

        Raises `too_many_requests` (429) when the key holds as many as it may.
        """
        most = settings.WAITS_PER_KEY
        if self.held(key_id) >= most:
            detail = f"This key waits for {most} answers already."
            raise TOO_MANY(detail, retry_after=COME_AGAIN)
        mine = asyncio.current_task()
        self._taken.setdefault(key_id, []).append(mine)
        try:
            yield
        finally:
            self._free(key_id, mine)

    def _free(self, key_id: UUID, mine: asyncio.Task[Any] | None) -> None:
        held = self._taken.get(key_id, [])
        if mine in held:
            held.remove(mine)
        if not held:
            self._taken.pop(key_id, None)


places: Final = Places()
