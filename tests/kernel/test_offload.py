"""Coroutines borrow a thread and a connection, and give both back."""

import asyncio
from threading import Thread, current_thread
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, async_to_sync, sync_to_async
from django.db import connections

from kernel.clock import database_now
from kernel.offload import offload, release_thread


def test_the_connection_goes_back_when_the_work_is_done() -> None:
    used = []

    def work() -> None:
        database_now()
        used.append(connections["default"])  # this thread's own
        assert used[0].connection is not None

    async_to_sync(offload)(work)
    assert used[0].connection is None


def test_it_goes_back_when_the_work_fails_too() -> None:
    used = []

    def work() -> None:
        database_now()
        used.append(connections["default"])
        raise LookupError

    with pytest.raises(LookupError):
        async_to_sync(offload)(work)
    assert used[0].connection is None


def test_a_request_that_waits_gives_up_its_thread_and_that_threads_connection() -> None:
    def there() -> tuple[Thread, Any]:
        database_now()
        return current_thread(), connections["default"]  # this thread's own

    async def request() -> None:
        async with ThreadSensitiveContext():
            first, used = await sync_to_async(there)()
            assert await sync_to_async(current_thread)() is first
            release_thread()
            await asyncio.to_thread(first.join, timeout=10)
            assert not first.is_alive()
            assert used.connection is None
            assert await sync_to_async(current_thread)() is not first

    asyncio.run(request())


def test_there_may_be_no_thread_to_give_up() -> None:
    async def request() -> None:
        release_thread()
        async with ThreadSensitiveContext():
            release_thread()

    asyncio.run(request())
