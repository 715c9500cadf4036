"""The gateway between a real Keyturn and a server behind it, as a program and in process."""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client as McpClient
from mcp import MCPError, StdioServerParameters

from approvals.services.policies import publish_policy
from checkpoints.services.tools import register_tool
from keyturn.mcp.gateway import UNKNOWN
from tenants.checks import Operator
from tests.examples.waiting import wait_until
from tests.sdk import pretended_server
from tests.sdk.mcp_programs import PROGRAM, environment, served
from tests.sdk.pretended_server import Pretended
from tests.sdk.test_mcp_gateway import Caller, calling
from tests.sdk.worlds import Real

DONE = 'wrote {"path": "/srv/a"}'


def registered(real: Real, *names: str, mode: str = "agent", **definition: Any) -> None:
    for name in names:
        register_tool(
            tenant_id=real.house.id,
            by=real.house.alice.id,
            name=f"files.{name}",
            mode=mode,
            risk="medium",
            definition=definition,
        )


def let_through(real: Real, selector: str) -> None:
    publish_policy(
        tenant_id=real.house.id,
        by=Operator.CONSOLE,
        name="through",
        definition={"verdict": "allow", "selector": selector},
    )


def statuses(real: Real) -> list[str]:
    return [one["status"] for one in real.api.get("approvals").json()["items"]]


@asynccontextmanager
async def started(real: Real, record: Path) -> AsyncIterator[Caller]:
    """The program, before one of a server, for a client of the older protocol."""
    behind = [sys.executable, pretended_server.__file__, str(record)]
    gateway = StdioServerParameters(
        command=PROGRAM,
        args=["gateway", "--prefix", "files.", "--", *behind],
        env=environment(real),
    )
    async with McpClient(gateway, mode="legacy") as client:
        yield Caller(client)


def arrived(record: Path) -> list[Any]:
    lines = record.read_text().splitlines() if record.exists() else []
    return [json.loads(line) for line in lines]


def test_what_policy_allows_is_done_at_once_and_what_died_is_not_called_again(
    real: Real, tmp_path: Path
) -> None:
    registered(real, "write", "environment", "die")
    let_through(real, 'tool.startsWith("files.")')
    record = tmp_path / "calls"

    async def scenario() -> None:
        async with started(real, record) as caller:
            assert await caller.call("write", path="/srv/a") == (False, DONE)
            _, names = await caller.call("environment")
            assert "KEYTURN" not in names
            assert "PATH" in names
            assert await caller.call("die") == (True, UNKNOWN)
            for _ in range(2):
                failed, told = await caller.call("die")
                assert failed
                assert told.startswith("Not sent on.")

    anyio.run(scenario)
    calls = [["write", {"path": "/srv/a"}], ["environment", {}], ["die", {}]]
    assert arrived(record) == calls
    written, told, died = (state for _, state, _ in real.effects())
    assert (written, told) == ("confirmed", "confirmed")
    assert died in ("unknown", "needs_attention")  # where it goes by itself
    assert real.runs() == ["completed", "completed", "needs_attention"]


def test_whoever_leaves_while_it_waits_takes_it_back(
    real: Real, tmp_path: Path
) -> None:
    registered(real, "write")
    record = tmp_path / "calls"

    def is_taken_back() -> bool:
        return statuses(real) == ["cancelled"]

    async def scenario() -> None:
        async with started(real, record) as caller:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(caller.call, "write")
                await anyio.to_thread.run_sync(real.pending)
                tasks.cancel_scope.cancel()
            await anyio.to_thread.run_sync(wait_until, is_taken_back)

    anyio.run(scenario)
    assert real.runs() == ["cancelled"]
    assert arrived(record) == []


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_gateway_that_is_stopped_takes_back_what_waits(
    real: Real, tmp_path: Path, way: str
) -> None:
    registered(real, "write")
    record = tmp_path / "calls"

    async def stopped(caller: Caller, pid: int) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(caller.call, "write")
            await anyio.to_thread.run_sync(real.pending)
            os.kill(pid, signal.SIGTERM)
            await anyio.to_thread.run_sync(
                wait_until, lambda: statuses(real) == ["cancelled"]
            )
            await anyio.to_thread.run_sync(wait_until, lambda: not is_alive(pid))
            tasks.cancel_scope.cancel()

    async def over_stdio() -> None:
        async with started(real, record) as caller:
            await stopped(caller, gateway_of(os.getpid()))

    async def over_http() -> None:
        behind = ["--", sys.executable, str(pretended_server.__file__), str(record)]
        with served(real, "gateway", "--prefix", "files.", behind=behind) as url:
            async with McpClient(url) as client:
                await stopped(Caller(client), gateway_of(os.getpid()))

    with suppress(BaseExceptionGroup, MCPError):  # of a client whose server is gone
        anyio.run(over_stdio if way == "stdio" else over_http)
    assert statuses(real) == ["cancelled"]
    assert arrived(record) == []


def gateway_of(parent: int) -> int:
    """The process of the gateway that this one has started."""
    for task in Path(f"/proc/{parent}/task").iterdir():
        for pid in (task / "children").read_text().split():
            if b"keyturn-mcp" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return int(pid)
    raise AssertionError("there is none")


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_two_at_once_are_two_questions_and_an_edit_is_done_as_edited(
    real: Real,
) -> None:
    registered(real, "write")
    behind = Pretended()
    told: dict[str, tuple[bool, str]] = {}

    def decide() -> None:
        wait_until(lambda: statuses(real) == ["pending", "pending"])
        rows = real.api.get("approvals").json()["items"]
        by_path = {one["arguments"]["path"]: one for one in rows}
        real.decide(by_path["/a"], "reject", reason="Not that one")
        edit = {"arguments": {"path": "/c"}}
        real.decide(by_path["/b"], "edit", **edit)
        if "pending" in statuses(real):
            real.decide(real.pending(), "approve", by=real.carol())

    async def scenario() -> None:
        async with calling(real.async_client, behind) as caller:

            async def call(path: str) -> None:
                told[path] = await caller.call("write", path=path)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call, "/a")
                tasks.start_soon(call, "/b")

    real._aside(decide)
    anyio.run(scenario)
    assert told["/a"][0]
    assert "Not that one" in told["/a"][1]
    note = 'A reviewer changed the arguments to {"path":"/c"}.'
    assert told["/b"] == (False, f'{note}\nwrote {{"path": "/c"}}')
    assert behind.calls == [("write", {"path": "/c"})]
    assert [one[:2] for one in real.effects()] == [("files.write", "confirmed")]


def test_once_it_is_sent_whoever_leaves_changes_nothing_of_the_outcome(
    real: Real,
) -> None:
    registered(real, "linger")
    let_through(real, 'tool == "files.linger"')
    behind = Pretended()

    async def scenario() -> None:
        async with (
            calling(real.async_client, behind) as caller,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(caller.call, "linger")
            await behind.begun.wait()
            tasks.cancel_scope.cancel()
            behind.late.set()

    anyio.run(scenario)
    assert behind.calls == [("linger", {})]
    assert [one[:2] for one in real.effects()] == [("files.linger", "confirmed")]
    assert real.runs() == ["completed"]


def test_a_tool_that_nobody_reviewed_is_refused_unless_asked_for_otherwise(
    real: Real,
) -> None:
    behind = Pretended()

    async def scenario(wait: float, reviewed_only: bool) -> tuple[bool, str]:
        options = {"wait": wait, "reviewed_only": reviewed_only}
        async with calling(real.async_client, behind, **options) as caller:
            return await caller.call("write", path="/srv/a")

    failed, told = anyio.run(scenario, 0, True)
    assert failed
    assert told.startswith("Not done (tool_not_reviewed)")
    assert (real.questions(), behind.calls) == (0, [])
    real.answer("approve")
    assert anyio.run(scenario, 60, False) == (False, DONE)


def test_what_keyturn_does_itself_is_not_sent_on(real: Real) -> None:
    url = "https://files.example/write"
    registered(real, "write", mode="managed", url=url)
    behind = Pretended()

    async def scenario() -> tuple[bool, str]:
        async with calling(real.async_client, behind, wait=0) as caller:
            return await caller.call("write", path="/srv/a")

    failed, told = anyio.run(scenario)
    assert failed
    assert told.startswith("Not sent on. Keyturn carries")
    assert (statuses(real), behind.calls) == (["cancelled"], [])


def test_over_http_before_a_server_over_http(real: Real) -> None:
    let_through(real, 'tool == "list_pending"')
    with served(real) as behind, served(real, "gateway", "--unreviewed", behind) as url:

        async def scenario() -> None:
            async with McpClient(url) as client:
                assert len((await client.list_tools()).tools) == 7
                failed, told = await Caller(client).call("list_pending")
                assert (failed, json.loads(told)) == (False, {"pending": []})

        anyio.run(scenario)
    assert [one[:2] for one in real.effects()] == [("list_pending", "confirmed")]
