"""A wait that lasts: what has not changed is not sent again."""

import asyncio
from typing import Any

import httpx
import pytest

from keyturn import Ask, flows
from tests.sdk.worlds import Real

ASK = Ask(tool="pay", arguments={"amount": "1.00"})


@pytest.fixture(autouse=True)
def short_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "LONGEST_WAIT", 1)


def answers(http: httpx.Client | httpx.AsyncClient, seen: list[int]) -> None:
    def see(response: httpx.Response) -> None:
        seen.append(response.status_code)

    async def see_later(response: httpx.Response) -> None:
        see(response)

    later: Any = isinstance(http, httpx.AsyncClient)
    http.event_hooks = {"response": [see_later if later else see]}


def test_a_poll_is_answered_by_304_until_something_changes(real: Real) -> None:
    seen: list[int] = []
    with real.client() as client:
        asked = client.request_approval(ASK)
        answers(client._http, seen)
        unchanged = client.wait(asked.id, timeout=3)
        assert unchanged == client.get_approval(asked.id)
        assert (seen[0], set(seen[1:-1])) == (200, {304})
        seen.clear()
        real.answer("reject", reason="Not this supplier")
        assert client.wait(asked.id).reason == "Not this supplier"
        assert seen[-1] == 200


def test_the_same_on_an_event_loop(real: Real) -> None:
    seen: list[int] = []

    async def work() -> None:
        async with real.async_client() as client:
            asked = await client.request_approval(ASK)
            answers(client._http, seen)
            assert (await client.wait(asked.id, timeout=3)).id == asked.id

    asyncio.run(work())
    assert (seen[0], set(seen[1:])) == (200, {304})
