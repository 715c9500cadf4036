"""The stream: ids and nothing else, to those who may hear of them, while they may."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from approvals.models import Request
from approvals.services.queues import take_right
from kernel.offload import offload
from tenants.services import deactivate_member
from tests.approvals.stage import Stage
from tests.factories import Somebody

WITHIN = 10.0  # seconds that an event may take before the test gives up


class Listener:
    """An open stream, read one event at a time."""

    def __init__(self, body: AsyncIterator[bytes]) -> None:
        self._body = body
        self.heard: list[str] = []

    async def ids(self) -> list[str]:
        """The ids of the next thing said that is not a heartbeat."""
        while True:
            said = await self.next()
            ids = [
                line.removeprefix("data: ")
                for line in said.splitlines()
                if line.startswith("data: ")
            ]
            if ids:
                return ids

    async def next(self) -> str:
        async with asyncio.timeout(WITHIN):
            said = (await anext(self._body)).decode()
        self.heard.append(said)
        return said

    async def end(self) -> None:
        """Read until the server ends it."""
        async with asyncio.timeout(WITHIN):
            async for said in self._body:
                self.heard.append(said.decode())


@asynccontextmanager
async def listening(
    stage: Stage, somebody: Somebody, query: str = ""
) -> AsyncIterator[Listener]:
    """Listen as this person, past what every stream begins with."""
    client = AsyncClient()
    await client.aforce_login(somebody.user)
    path = f"/t/{stage.house.tenant.slug}/stream{query}"
    response: Any = await client.get(path)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/event-stream"
    body = aiter(response.streaming_content)
    try:
        yield Listener(body)
    finally:
        await body.aclose()


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an asynchronous test; database work in it is offloaded."""

    def run(stage: Stage) -> None:
        async_to_sync(test)(stage)

    return run


@on_a_loop
async def test_a_change_on_a_queue_is_told_by_id(stage: Stage) -> None:
    async with listening(stage, stage.bob) as heard:
        assert await heard.ids() == [
            str(stage.queue.id)
        ]  # look: you may have missed it
        await offload(stage.ask)
        assert await heard.ids() == [str(stage.queue.id)]
    assert not [said for said in heard.heard if "<" in said]


@on_a_loop
async def test_the_open_request_is_told_of_too(stage: Stage) -> None:
    request: Request = await offload(stage.ask)
    async with listening(stage, stage.bob, f"?request={request.id}") as heard:
        await heard.ids()
        await offload(stage.answer, request)
        assert str(request.id) in await heard.ids()


@on_a_loop
async def test_what_is_not_seen_is_not_told(stage: Stage) -> None:
    """Another tenant's request, asked for by its id, is not listened to."""
    request: Request = await offload(stage.ask)
    own = await offload(_own_stage)
    async with listening(own, own.bob, f"?request={request.id}&run=nonsense") as heard:
        assert await heard.ids() == [str(own.queue.id)]
    assert own.tenant_id != stage.tenant_id


def _own_stage() -> Stage:
    from tests.approvals.stage import fresh_stage

    return fresh_stage()


@on_a_loop
async def test_it_ends_with_the_right_to_see(stage: Stage) -> None:
    async with listening(stage, stage.bob) as heard:
        await heard.ids()
        await offload(
            take_right,
            tenant_id=stage.tenant_id,
            by=stage.house.alice.id,
            queue_id=stage.queue.id,
            right="view",
            group_id=stage.house.reviewers.id,
        )
        await offload(stage.ask)
        before = len(heard.heard)
        await heard.end()
        assert "data:" not in "".join(heard.heard[before:])


@on_a_loop
async def test_it_ends_with_the_membership(stage: Stage) -> None:
    carol = await offload(stage.reviewer)
    async with listening(stage, carol) as heard:
        await heard.ids()
        await offload(
            deactivate_member,
            tenant_id=stage.tenant_id,
            by=stage.house.alice.id,
            member_id=carol.id,
        )
        await offload(stage.ask)
        await heard.end()


def test_it_ends_with_the_session(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing changes: the next heartbeat finds that nobody is signed in."""
    monkeypatch.setattr("approvals.stream.HEARTBEAT", 0.2)

    async def test() -> None:
        client = AsyncClient()
        await client.aforce_login(stage.bob.user)
        response: Any = await client.get(f"/t/{stage.house.tenant.slug}/stream")
        heard = Listener(aiter(response.streaming_content))
        await heard.ids()
        await client.alogout()
        await heard.end()

    async_to_sync(test)()


@on_a_loop
async def test_many_streams_hold_no_connection(stage: Stage) -> None:
    """More listeners than the pool has connections, all told."""
    request: Request = await offload(stage.ask)
    async with asyncio.TaskGroup() as group:
        ready = [asyncio.Event() for _ in range(20)]

        async def listen(at: asyncio.Event) -> None:
            async with listening(stage, stage.bob) as heard:
                await heard.ids()
                at.set()
                await heard.ids()

        for at in ready:
            group.create_task(listen(at))
        async with asyncio.timeout(30):
            for at in ready:
                await at.wait()
        await offload(stage.answer, request)
