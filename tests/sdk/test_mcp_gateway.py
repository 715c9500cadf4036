"""The gateway's calls, with people who answer at once and a server behind in process."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import mcp.types as types
import pytest
from mcp import Client as McpClient

from keyturn.client import AsyncClient
from keyturn.mcp import gateway
from keyturn.mcp.front import build
from keyturn.mcp.gateway import STOPPED, UNKNOWN, Gateway, Options
from keyturn.testing import FakeApprover, _AsyncClient
from tests.sdk.pretended_server import Pretended

PATH = {"path": "/srv/a", "mode": None, "lines": [1, 1.5, "é"]}


class Caller:
    """Calls tools; what came back as (is it an error, its text)."""

    def __init__(self, client: McpClient) -> None:
        self.client = client
        self.heard: list[tuple[float, str | None]] = []

    async def call(self, name: str, **arguments: Any) -> tuple[bool, str]:
        answer = await self.client.call_tool(
            name, arguments, progress_callback=self._hear, read_timeout_seconds=120
        )
        texts = [one.text for one in answer.content if one.type == "text"]
        return answer.is_error, "\n".join(texts)

    async def _hear(self, done: float, total: float | None, said: str | None) -> None:
        self.heard.append((done, said))


@asynccontextmanager
async def calling(
    connect: Callable[[], AsyncClient], behind: Pretended, **options: Any
) -> AsyncIterator[Caller]:
    """An agent's client before a gateway before a server of the older protocol."""
    async with (
        McpClient(behind.server(), mode="legacy") as upstream,
        connect() as client,
    ):
        asking = Gateway(upstream, client, Options(prefix="files.", **options))
        async with McpClient(build(asking)) as agent:
            yield Caller(agent)


@pytest.fixture
def people() -> FakeApprover:
    return FakeApprover()


@pytest.fixture
def behind() -> Pretended:
    return Pretended()


def states(people: FakeApprover) -> list[tuple[str, str]]:
    """Of each question and its run."""
    asked = people._server.approvals.values()
    return [(one["status"], people._server.runs[one["run"]]["state"]) for one in asked]


def test_what_the_server_behind_offers_is_shown_as_it_is(
    people: FakeApprover, behind: Pretended
) -> None:
    async def scenario() -> None:
        async with calling(people.async_client, behind) as caller:
            agent, cursor, shown = caller.client, None, []
            for _ in behind.tools:
                page = await agent.list_tools(cursor=cursor)
                cursor = page.next_cursor
                shown += page.tools
            assert cursor is None
            assert shown == [behind.shown(name) for name in behind.tools]
            assert agent.instructions == "Files, in a way."
            assert (await agent.list_resources()).resources[0].name == "readme"
            read = await agent.read_resource("file:///readme")
            assert read.contents[0].model_dump()["text"] == "Read me."
            assert (await agent.list_prompts()).prompts[0].name == "tidy"
            prompt = await agent.get_prompt("tidy", {"what": "up"})
            assert "{'what': 'up'}" in str(prompt.messages[0].content)

    anyio.run(scenario)
    assert people.asked == []


def test_it_is_sent_once_with_what_was_approved_after_six_minutes(
    people: FakeApprover, behind: Pretended
) -> None:
    people.take_time(360)
    people.edit("files.write", path="/srv/b")
    changed = {**PATH, "path": "/srv/b"}

    async def scenario() -> None:
        async with calling(people.async_client, behind, subject="ann") as caller:
            failed, said = await caller.call("write", **PATH)
            assert not failed
            note, result = said.split("\n")
            assert note.startswith("A reviewer changed the arguments to {")
            assert json.loads(result.removeprefix("wrote ")) == changed
            assert len(caller.heard) >= 30
            assert [done for done, _ in caller.heard] == sorted(
                {done for done, _ in caller.heard}
            )
            assert caller.heard[-1][1] == "under way"

    anyio.run(scenario)
    assert behind.calls == [("write", changed)]
    assert [(one.tool, one.outcome) for one in people.outcomes] == [
        ("files.write", "confirmed")
    ]
    assert (people.asked[0].explanation, people.asked[0].target) == ("", None)
    assert states(people) == [("consumed", "completed")]
    assert [one["subject"] for one in people._server.sessions.values()] == ["ann"]


def test_the_same_call_twice_is_two_questions(
    people: FakeApprover, behind: Pretended
) -> None:
    people.approve()

    async def scenario() -> None:
        async with calling(people.async_client, behind) as caller:
            for _ in range(2):
                failed, said = await caller.call("write", path="/srv/a")
                assert (failed, said) == (False, 'wrote {"path": "/srv/a"}')

    anyio.run(scenario)
    assert len(people.asked) == len(behind.calls) == 2
    assert len({told[gateway.KEY] for told in behind.told}) == 2


@pytest.mark.parametrize(
    ("verb", "said", "words", "state"),
    [
        ("reject", {"reason": "Not there"}, "Not there", "rejected"),
        ("respond", {"response": "use /tmp"}, "use /tmp", "answered"),
        ("request_changes", {"reason": "Which file?"}, "Which file?", "cancelled"),
        ("leave", {}, "Nobody answered in time", "cancelled"),
    ],
)
def test_a_no_is_said_in_words_and_sends_nothing(
    people: FakeApprover,
    behind: Pretended,
    verb: str,
    said: dict[str, Any],
    words: str,
    state: str,
) -> None:
    getattr(people, verb)(**said)

    async def scenario() -> None:
        async with calling(people.async_client, behind, wait=60) as caller:
            failed, told = await caller.call("write", **PATH)
            assert failed
            assert told.startswith("Not done")
            assert words in told

    anyio.run(scenario)
    assert behind.calls == people.outcomes == []
    assert states(people) == [(state, "cancelled")]


@pytest.mark.parametrize(
    ("tool", "outcome", "told"),
    [
        ("fail", "failed", "the disk is full"),
        ("refuse", "failed", "Not done: the server behind refused: no such path"),
        ("stumble", "unknown", UNKNOWN),
        ("linger", "unknown", UNKNOWN),
    ],
)
def test_what_the_server_behind_says_is_what_came_of_it(
    people: FakeApprover, behind: Pretended, tool: str, outcome: str, told: str
) -> None:
    people.approve()

    async def scenario() -> None:
        patience = 0.2 if tool == "linger" else 60
        async with calling(people.async_client, behind, timeout=patience) as caller:
            assert await caller.call(tool) == (True, told)

    anyio.run(scenario)
    assert behind.calls == [(tool, {})]
    assert [one.outcome for one in people.outcomes] == [outcome]


def test_a_tool_that_is_not_offered_asks_nobody(
    people: FakeApprover, behind: Pretended
) -> None:
    async def scenario() -> None:
        async with calling(people.async_client, behind) as caller:
            for name in ("approve", "redeem", "files.write"):
                failed, told = await caller.call(name)
                assert failed
                assert told.startswith("Not sent on.")

    anyio.run(scenario)
    assert people.asked == []


def test_a_tool_that_changed_meanwhile_is_not_called(
    people: FakeApprover, behind: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.approve()

    async def other(*_: Any) -> Any:
        behind.description = "Deletes everything."
        return await waiting(*_)

    waiting = gateway.wait_for
    monkeypatch.setattr(gateway, "wait_for", other)

    async def scenario() -> None:
        async with calling(people.async_client, behind) as caller:
            assert (await caller.call("write"))[1].startswith("Not sent on.")

    anyio.run(scenario)
    assert behind.calls == people.outcomes == []


def test_without_keyturn_nothing_is_sent(
    people: FakeApprover, behind: Pretended
) -> None:
    def cut(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    def connect() -> AsyncClient:
        return _AsyncClient(people._server, httpx.MockTransport(cut))

    async def scenario() -> None:
        async with calling(connect, behind) as caller:
            failed, told = await caller.call("write", **PATH)
            assert failed
            assert told.startswith("Not done: Keyturn cannot be reached")

    anyio.run(scenario)
    assert behind.calls == []
    assert people._server.seconds <= gateway.ASKING


def test_arguments_without_an_exact_form_ask_nobody(
    people: FakeApprover, behind: Pretended
) -> None:
    async def scenario() -> None:
        async with calling(people.async_client, behind) as caller:
            failed, told = await caller.call("write", size=2**60)
            assert failed
            assert "too large a number to stay exact" in told

    anyio.run(scenario)
    assert people.asked == behind.calls == []


def test_whoever_calls_a_gateway_that_stops_is_not_asked_for() -> None:
    nothing: Any = None  # that is asked, or sent to

    async def scenario() -> types.CallToolResult:
        gone = Gateway(nothing, nothing, nothing)
        await gone.stop()
        return await gone.call(nothing, types.CallToolRequestParams(name="write"))

    assert STOPPED in str(anyio.run(scenario).content)
