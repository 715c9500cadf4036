"""Who takes the anchors away, or leaves while they do, keeps nobody else waiting."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from audit.anchors import anchor
from kernel.problems import Problem
from oversight.pages.anchor_taking import _checking, anchor_copy
from oversight.pages.piped import WRITERS, piped
from tests.approvals.stage import Stage, fresh_stage
from tests.oversight.test_piped import WAIT


@pytest.fixture
def stage(settings: Any, tmp_path: Path) -> Stage:
    settings.DATA_DIR = tmp_path  # whose anchors are ours alone
    stage = fresh_stage()
    anchor()
    return stage


@pytest.fixture
def endless(stage: Stage, tmp_path: Path) -> Iterator[Path]:
    """A file of anchors that nobody reads to its end while the test lasts."""
    file = tmp_path / "anchors.ndjson"
    file.unlink()
    os.mkfifo(file)
    yield file
    other_end = os.open(file, os.O_RDWR)  # whoever has waited is let go
    asyncio.run(settled())
    os.close(other_end)


async def settled() -> None:
    """Until the thread that checks is free for the next test."""
    await asyncio.wrap_future(_checking.submit(lambda: None))


async def taken(stage: Stage) -> bytes:
    return b"".join([chunk async for chunk in await anchor_copy(stage.tenant_id)])


def in_time(work: Callable[[], Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work(), WAIT))


def test_others_get_their_files_while_one_is_long(endless: Path) -> None:
    """As many tenants as there are writers ask for anchors, and go."""

    async def export() -> bytes:
        return b"".join([one async for one in piped(lambda out: out.write(b"log"))])

    async def work() -> bytes:
        asked = [asyncio.create_task(taken(fresh)) for fresh in stages]
        await asyncio.sleep(0)
        held = await export()
        for one in asked:
            one.cancel()
        await asyncio.wait(asked)
        return held + await export()

    stages = [fresh_stage() for _ in range(WRITERS)]
    assert in_time(work) == b"loglog"


def test_one_of_a_tenant_s_is_taken_at_a_time(stage: Stage) -> None:
    async def work() -> None:
        first = await anchor_copy(stage.tenant_id)
        assert await anext(first)
        with pytest.raises(Problem) as refused:
            await anchor_copy(stage.tenant_id)
        assert refused.value.status == 503
        assert await taken(fresh)  # another tenant's
        await first.aclose()
        never = await anchor_copy(stage.tenant_id)  # whose reader went before it began
        assert await taken(stage)
        await never.aclose()

    fresh = fresh_stage()
    in_time(work)


def test_whoever_is_too_many_is_told_when_to_come_again(stage: Stage) -> None:
    path = f"/t/{stage.house.tenant.slug}/audit/anchors.ndjson"

    async def work() -> list[Any]:
        client = AsyncClient(raise_request_exception=False)
        await client.aforce_login(stage.house.alice.user)
        first = await anchor_copy(stage.tenant_id)
        assert await anext(first)
        answers = [await client.get(path)]
        with suppress(StopAsyncIteration):
            while await anext(first):
                pass
        return [*answers, await client.get(path)]

    refused, let = async_to_sync(work)()
    assert (refused.status_code, let.status_code) == (503, 200)
    assert int(refused["Retry-After"]) > 0
