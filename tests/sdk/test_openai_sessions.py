"""Conversations of OpenAI's Agents SDK, kept as they are."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from agents import SessionSettings
from agents.memory import OpenAIResponsesCompactionSession, Session

from keyturn.openai_agents import KeyturnSession
from tests.sdk.worlds import Real

ITEMS: list[Any] = [
    {"role": "user", "content": "nul \u0000 and half \ud800"},
    {"type": "reasoning", "id": "rs", "encrypted_content": "x==", "zeta": 1, "a": None},
    {
        "type": "function_call",
        "call_id": "c",
        "name": "f",
        "arguments": '{"b":1,"a":2}',
    },
    {"type": "function_call_output", "call_id": "c", "output": "1"},
    {"role": "user", "content": "twice"},
    {"role": "user", "content": "twice"},
]


def conversing(
    real: Real, work: Callable[[KeyturnSession], Coroutine[Any, Any, None]], **more: Any
) -> None:
    async def drive() -> None:
        async with real.async_client() as client:
            await work(KeyturnSession(client, "chat", subject="customer-7", **more))

    asyncio.run(drive())


def test_items_come_back_as_they_were(real: Real) -> None:
    async def work(session: KeyturnSession) -> None:
        assert isinstance(session, Session)
        await session.add_items([])
        await session.add_items(ITEMS[:2])
        await session.add_items(ITEMS[2:])
        found = await session.get_items()
        assert json.dumps(found) == json.dumps(ITEMS)
        assert await session.get_items(2) == ITEMS[-2:]
        assert await session.get_items(0) == []
        assert await session.get_items(2147483647) == ITEMS
        assert await session.pop_item() == ITEMS[-1]
        assert await session.get_items(1) == [ITEMS[4]]
        assert await session._atomic_replace_items(ITEMS[:1])
        assert await session.get_items() == ITEMS[:1]
        await session.clear_session()
        assert (await session.pop_item(), await session.get_items()) == (None, [])

    conversing(real, work)


def test_the_settings_limit_what_is_read(real: Real) -> None:
    async def work(session: KeyturnSession) -> None:
        await session.add_items(ITEMS)
        assert await session.get_items() == ITEMS[-1:]
        assert await session.get_items(3) == ITEMS[-3:]

    conversing(real, work, session_settings=SessionSettings(limit=1))


def test_no_two_take_the_same_item(real: Real) -> None:
    async def work(session: KeyturnSession) -> None:
        await session.add_items([{"n": number} for number in range(6)])
        taken = await asyncio.gather(*(session.pop_item() for _ in range(8)))
        found = sorted(one["n"] for one in taken if one is not None)
        assert found == [0, 1, 2, 3, 4, 5]

    conversing(real, work)


def test_a_cancelled_write_is_finished(real: Real) -> None:
    async def work(session: KeyturnSession) -> None:
        await session.get_items()
        adding = asyncio.create_task(session.add_items(ITEMS))
        await asyncio.sleep(0)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert len(await session.get_items()) == len(ITEMS)

    conversing(real, work)


def test_the_compaction_of_the_sdk_works_on_it(real: Real) -> None:
    async def work(session: KeyturnSession) -> None:
        compacting = OpenAIResponsesCompactionSession(
            "chat", underlying_session=session
        )
        await compacting.add_items(ITEMS)
        await compacting._replace_underlying_session_items(
            output_items=ITEMS[:1], previous_items=ITEMS
        )
        assert await session.get_items() == ITEMS[:1]

    conversing(real, work)
