"""Anthropic's Agent SDK: permissions, the hook, and its own suite for stores."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)
from claude_agent_sdk.testing import run_session_store_conformance

from keyturn import AsyncClient
from keyturn.claude_agent import KeyturnStore, Permissions
from keyturn.testing import FakeApprover
from tests.sdk.pretended_claude import PretendedClaude, asks_for, hook_for
from tests.sdk.worlds import Real, World

COMMAND = {"command": "rm -r build"}


@pytest.fixture
def people() -> Iterator[FakeApprover]:
    with FakeApprover() as people:
        yield people


def prompted(
    world: World | FakeApprover,
    name: str = "Bash",
    given: dict[str, Any] | None = None,
    *,
    call: str = "toolu_1",
    agent: str | None = None,
    **more: Any,
) -> Any:
    context = ToolPermissionContext(tool_use_id=call, agent_id=agent, title="Really?")

    async def work() -> Any:
        async with world.async_client() as client:
            permissions = Permissions(client, session="TASK-1", **more)
            return await permissions.can_use_tool(name, given or COMMAND, context)

    return asyncio.run(work())


def hooked(people: FakeApprover, **more: Any) -> Any:
    hook = {"tool_name": "Bash", "tool_input": COMMAND, "tool_use_id": "toolu_1"}

    async def work() -> Any:
        async with people.async_client() as client:
            permissions = Permissions(client, session="TASK-1", **more)
            return await permissions.pre_tool_use(hook, None, {"signal": None})

    return asyncio.run(work())["hookSpecificOutput"]


def test_what_is_approved_is_handed_over_once(world: World) -> None:
    world.answer("edit", arguments={"command": "rm -r build/tmp"})
    found = prompted(world)
    assert found == PermissionResultAllow(updated_input={"command": "rm -r build/tmp"})
    again = prompted(world)
    assert isinstance(again, PermissionResultDeny)
    assert (world.questions(), world.runs()) == (1, ["completed"])
    assert world.effects() == [("Bash", "confirmed", "")]


def test_who_asks_and_why_is_shown(people: FakeApprover) -> None:
    people.approve()
    prompted(people, agent="agent-7")
    (asked,) = people.asked
    assert asked.explanation == "Really? Asked by sub-agent agent-7."


def test_a_no_reaches_the_model_and_may_end_its_turn(people: FakeApprover) -> None:
    people.reject(reason="Not that folder")
    told = "Not done, rejected by the reviewers: Not that folder"
    assert prompted(people) == PermissionResultDeny(message=told)
    ended = prompted(people, call="toolu_2", interrupts=True)
    assert ended == PermissionResultDeny(message=told, interrupt=True)


def test_an_answer_instead_does_not_end_the_turn(people: FakeApprover) -> None:
    people.respond(response="Use make clean.")
    told = "A reviewer answers: Use make clean."
    assert prompted(people, interrupts=True) == PermissionResultDeny(message=told)


def test_no_answer_and_no_server_are_no_permission(people: FakeApprover) -> None:
    silence = prompted(people, timeout=0)
    assert isinstance(silence, PermissionResultDeny)
    assert isinstance(prompted(people, given={"n": 2**60}), PermissionResultDeny)
    people.approve()
    assert isinstance(prompted(people, given={"other": 1}), PermissionResultDeny)


def test_what_is_suggested_is_not_allowed_by_itself(people: FakeApprover) -> None:
    people.approve()
    assert prompted(people).updated_permissions is None


def test_five_prompts_are_answered_each(people: FakeApprover) -> None:
    for number in range(5):
        say = people.approve if number % 2 else people.reject
        say(f"tool-{number}")

    async def work() -> list[Any]:
        async with people.async_client() as client:
            permissions = Permissions(client, session="TASK-1")
            return await asyncio.gather(
                *(
                    permissions.can_use_tool(
                        f"tool-{number}",
                        {"n": number},
                        ToolPermissionContext(tool_use_id=f"toolu_{number}"),
                    )
                    for number in reversed(range(5))
                )
            )

    found = [one.behavior for one in asyncio.run(work())]
    assert found == ["deny", "allow", "deny", "allow", "deny"]


def test_a_prompt_that_is_taken_back_takes_the_question_back(real: Real) -> None:
    async def work() -> str:
        async with real.async_client() as client:
            permissions = Permissions(client, session="TASK-1")
            context = ToolPermissionContext(tool_use_id="toolu_1")
            prompt = asyncio.create_task(
                permissions.can_use_tool("Bash", COMMAND, context)
            )
            while not (await client.list_approvals()).items:
                assert not prompt.done()
            prompt.cancel()
            with pytest.raises(asyncio.CancelledError):
                await prompt
            (found,) = (await client.list_approvals()).items
            return found.status

    assert asyncio.run(work()) == "cancelled"


def test_the_hook_defers_until_there_is_an_answer(people: FakeApprover) -> None:
    assert hooked(people, timeout=0)["permissionDecision"] == "defer"
    people.edit(command="ls")
    found = hooked(people, timeout=0)
    assert found["permissionDecision"] == "allow"
    assert found["updatedInput"] == {"command": "ls"}
    assert hooked(people, timeout=0)["permissionDecision"] == "deny"
    assert len(people.asked) == 1


def test_the_hook_denies_what_people_deny(people: FakeApprover) -> None:
    people.reject(reason="No")
    found = hooked(people)
    assert found["permissionDecision"] == "deny"
    assert found["permissionDecisionReason"].endswith("No")


def test_what_nobody_expected_is_no_permission(people: FakeApprover) -> None:
    """The SDK takes a hook that fails for one without an opinion."""
    people.approve()
    hook = {"tool_name": "Bash", "tool_input": COMMAND, "tool_use_id": "toolu_1"}

    async def work() -> tuple[Any, Any]:
        async with people.async_client() as client:
            permissions = Permissions(client, session="TASK-1")
        # Closed: what it raises from here on is no error of ours.
        context = ToolPermissionContext(tool_use_id="toolu_1")
        return (
            await permissions.pre_tool_use(hook, None, {"signal": None}),
            await permissions.can_use_tool("Bash", COMMAND, context),
        )

    hooked, prompted = asyncio.run(work())
    assert hooked["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert isinstance(prompted, PermissionResultDeny)


def store(client: AsyncClient, prefix: str | None = None) -> KeyturnStore:
    prefix = prefix or str(uuid4())
    return KeyturnStore(client, subject="customer-7", prefix=prefix)


def test_the_store_passes_the_conformance_suite(real: Real) -> None:
    async def work() -> None:
        async with real.async_client() as client:
            await run_session_store_conformance(lambda: store(client))

    asyncio.run(work())


def test_a_batch_that_is_sent_again_is_kept_once(real: Real) -> None:
    key: Any = {"project_key": "/" + "x" * 250, "session_id": "s"}
    batch: Any = [{"type": "user", "uuid": "a"}, {"type": "user", "uuid": "b"}]
    mode: Any = [{"type": "mode"}]

    async def work() -> Any:
        async with real.async_client() as client:
            for sent in (batch, batch, [*batch, {"type": "user", "uuid": "c"}]):
                await store(client, "p").append(key, sent)
            await store(client, "p").append(key, mode)
            await store(client, "p").append(key, mode)
            return await store(client, "p").load(key)

    found = [one.get("uuid") for one in asyncio.run(work())]
    assert found == ["a", "b", "c", None, None]


# -- Through the SDK --------------------------------------------------------------------


def worked(people: FakeApprover, *asks: dict[str, Any]) -> PretendedClaude:
    claude = PretendedClaude(*asks)

    async def work() -> None:
        async with people.async_client() as client:
            permissions = Permissions(client, session="TASK-1", timeout=0)
            matcher = HookMatcher(
                hooks=[permissions.pre_tool_use], timeout=700, on_failure="block"
            )
            options = ClaudeAgentOptions(
                can_use_tool=permissions.can_use_tool, hooks={"PreToolUse": [matcher]}
            )
            async with ClaudeSDKClient(options, transport=claude) as agent:
                await agent.query("Clean up.")
                async for _ in agent.receive_response():
                    pass

    asyncio.run(work())
    return claude


def test_the_sdk_hands_on_what_people_said(people: FakeApprover) -> None:
    people.edit("Bash", command="ls")
    people.reject("Write", reason="Not there")
    claude = worked(
        people,
        asks_for("Bash", COMMAND, call="toolu_1"),
        asks_for("Write", {"path": "/etc/hosts"}, call="toolu_2"),
        hook_for("Bash", COMMAND, call="toolu_3"),
        hook_for("Sleep", {}, call="toolu_4"),
    )
    assert claude.answers["0"]["behavior"] == "allow"
    assert claude.answers["0"]["updatedInput"] == {"command": "ls"}
    assert claude.answers["1"]["behavior"] == "deny"
    assert claude.answers["1"]["message"].endswith("Not there")
    allowed, deferred = (
        claude.answers[number]["hookSpecificOutput"] for number in ("2", "3")
    )
    assert allowed["updatedInput"] == {"command": "ls"}
    assert deferred["permissionDecision"] == "defer"
    (matcher,) = claude.hooks["PreToolUse"]
    assert matcher["onFailure"] == "block"
