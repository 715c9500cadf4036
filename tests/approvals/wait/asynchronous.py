"""Tests on an event loop, with the database on threads beside it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from django.db import connection
from django.test import AsyncClient

from tests.factories import Machine

LONGEST = 30.0  # seconds, of any of these tests


def on_a_loop[T](work: Coroutine[Any, Any, T]) -> T:
    """Run it to its end on a loop of its own."""

    async def bounded() -> T:
        async with asyncio.timeout(LONGEST):
            return await work

    return asyncio.run(bounded())


async def beside[T](act: Callable[[], T]) -> T:
    """Do it on a thread, and give its connection back."""

    def there() -> T:
        try:
            return act()
        finally:
            connection.close()

    return await asyncio.to_thread(there)


async def until(condition: Callable[[], object]) -> None:
    """Wait for what must become true."""
    while not condition():
        await asyncio.sleep(0.01)


async def read(
    machine: Machine, request: object, query: str = "", **headers: str
) -> Any:
    """GET the approval with the agent's key."""
    sent = {"Authorization": f"Bearer {machine.text}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    id = getattr(request, "id", request)
    return await AsyncClient().get(f"/api/v1/approvals/{id}?{query}", headers=sent)
