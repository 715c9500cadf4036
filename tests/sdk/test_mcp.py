"""The MCP server, called by the official client: in process, over stdio, over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import Client as McpClient
from mcp import StdioServerParameters

from keyturn.mcp import tools
from keyturn.mcp.server import build
from keyturn.testing import FakeApprover
from tests.sdk.mcp_programs import PROGRAM, environment, served
from tests.sdk.worlds import Real

PAYMENT = {"payee": "Halden Paper", "amount": "1240.00"}
ASK = {"tool": "send_payment", "arguments": PAYMENT, "risk": "high"}


class Caller:
    """Calls tools and takes their answers apart."""

    def __init__(self, client: McpClient) -> None:
        self.client = client
        self.heard: list[tuple[float, float | None, str | None]] = []

    async def ok(self, name: str, **arguments: Any) -> dict[str, Any]:
        answer = await self._call(name, arguments)
        assert not answer.is_error, answer.content
        told: dict[str, Any] = answer.structured_content
        return told

    async def flaw(self, name: str, **arguments: Any) -> dict[str, Any]:
        answer = await self._call(name, arguments)
        assert answer.is_error, answer.content
        told: dict[str, Any] = answer.structured_content
        return told

    async def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self.client.call_tool(
            name, arguments, progress_callback=self._hear, read_timeout_seconds=120
        )

    async def _hear(
        self, done: float, total: float | None, message: str | None
    ) -> None:
        self.heard.append((done, total, message))


@pytest.fixture
def people() -> FakeApprover:
    return FakeApprover()


@asynccontextmanager
async def calling(people: FakeApprover) -> AsyncIterator[Caller]:
    async with McpClient(build(people.async_client)) as client:
        yield Caller(client)


def test_an_edited_approval_comes_after_six_minutes(people: FakeApprover) -> None:
    people.take_time(360)
    people.edit("send_payment", amount="10.00")

    async def scenario() -> None:
        async with calling(people) as caller:
            asked = await caller.ok("request_approval", **ASK)
            assert asked["next"] == "wait"
            assert (await caller.ok("list_pending"))["pending"][0]["id"] == asked["id"]
            found = await caller.ok("wait_for_decision", approval=asked["id"])
            assert (found["next"], found["arguments"]["amount"]) == ("redeem", "10.00")
            assert len(caller.heard) >= 30
            assert asked["review_url"] in str(caller.heard[0][2])
            assert caller.heard == sorted(caller.heard)
            handed = await caller.ok("redeem", approval=asked["id"])
            assert handed["effect"]["arguments"] == {**PAYMENT, "amount": "10.00"}
            effect = handed["effect"]["id"]
            done = {"effect": effect, "outcome": "confirmed", "external_id": "PAY-7"}
            told = await caller.ok("report_effect", **done)
            assert told["state"] == "confirmed"
            after = await caller.ok("get_decision", approval=asked["id"])
            assert after["next"] == "done"

    anyio.run(scenario)


def test_a_wait_ends_in_time_and_a_no_hands_nothing_out(people: FakeApprover) -> None:
    async def scenario() -> None:
        async with calling(people) as caller:
            asked = await caller.ok("request_approval", **ASK)
            waited = {"approval": asked["id"], "timeout_seconds": 25}
            assert (await caller.ok("wait_for_decision", **waited))["next"] == "wait"
            assert (await caller.flaw("redeem", approval=asked["id"]))[
                "code"
            ] == "Paused"
            people.reject(reason="Not this supplier")
            flaw = await caller.flaw("redeem", approval=asked["id"])
            assert (flaw["code"], flaw["status"]) == ("Rejected", "rejected")

    anyio.run(scenario)
    assert people.outcomes == []


def test_a_coding_agent_is_let_through_with_what_was_approved(
    people: FakeApprover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "LONGEST", 60)
    prompt = {"tool_name": "Bash", "input": {"command": "rm -rf build dist"}}
    people.edit("Bash", command="rm -rf build")

    async def scenario() -> None:
        async with calling(people) as caller:
            said = await caller.ok("permission_prompt", **prompt, tool_use_id="t1")
            assert said == {
                "behavior": "allow",
                "updatedInput": {"command": "rm -rf build"},
            }
            again = await caller.ok("permission_prompt", **prompt, tool_use_id="t1")
            assert again["behavior"] == "deny"
            people.respond("Bash", response="use git clean")
            said = await caller.ok("permission_prompt", **prompt, tool_use_id="t2")
            assert said["behavior"] == "deny"
            assert "use git clean" in said["message"]
            people.leave("Bash")
            said = await caller.ok("permission_prompt", **prompt, tool_use_id="t3")
            assert said["behavior"] == "deny"

    anyio.run(scenario)
    assert [one.outcome for one in people.outcomes] == ["confirmed"]


def test_no_tool_decides(people: FakeApprover) -> None:
    async def scenario() -> None:
        async with calling(people) as caller:
            offered = (await caller.client.list_tools()).tools
            assert {one.name for one in offered} == {
                "request_approval",
                "get_decision",
                "wait_for_decision",
                "list_pending",
                "redeem",
                "report_effect",
                "permission_prompt",
            }
            for one in offered:
                assert one.input_schema["additionalProperties"] is False
                words = set(one.input_schema["properties"])
                assert not words & {"verdict", "decision", "digest", "approve"}
            for name in ("decide", "approve", "revoke_approval"):
                assert (await caller.flaw(name))["code"] == "unknown_tool"

    anyio.run(scenario)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"argumnets": {}}, ""),
        ({"arguments": "{}"}, "/arguments"),
        ({"arguments": None}, "/arguments"),
        ({"risk": "none"}, "/risk"),
        ({"decide_within": "60"}, "/decide_within"),
        ({"tool": ""}, "/tool"),
    ],
    ids=repr,
)
def test_wrong_arguments_are_neither_coerced_nor_ignored(
    people: FakeApprover, change: dict[str, Any], pointer: str
) -> None:
    async def scenario() -> None:
        async with calling(people) as caller:
            flaw = await caller.flaw("request_approval", **{**ASK, **change})
            assert (flaw["code"], flaw["pointer"]) == ("invalid_arguments", pointer)

    anyio.run(scenario)
    assert people.asked == []


async def _ask_and_act(caller: Caller) -> None:
    asked = await caller.ok("request_approval", **ASK)
    await caller.ok("wait_for_decision", approval=asked["id"], timeout_seconds=60)
    handed = await caller.ok("redeem", approval=asked["id"])
    done = {"effect": handed["effect"]["id"], "outcome": "confirmed"}
    await caller.ok("report_effect", **done, external_id="PAY-7")


def test_over_stdio(real: Real) -> None:
    server = StdioServerParameters(command=PROGRAM, env=environment(real))

    async def scenario() -> None:
        async with McpClient(server) as client:
            await _ask_and_act(Caller(client))

    real.answer("approve")
    anyio.run(scenario)
    assert real.effects() == [("send_payment", "confirmed", "PAY-7")]
    assert real.runs() == ["completed"]


def test_over_http(real: Real) -> None:
    with served(real) as url:

        async def scenario() -> None:
            async with McpClient(url) as client:
                await _ask_and_act(Caller(client))

        real.answer("approve")
        anyio.run(scenario)
    assert real.effects() == [("send_payment", "confirmed", "PAY-7")]
