"""OpenAI's Agents SDK: conversations kept in Keyturn, and tools that people approve.

    @approved_tool(external_id=str)
    def send_payment(payee: str, amount: str) -> str: ...

    async with client.run("TASK-7", subject="customer-7") as run:
        result = await run_agent(run, agent, "Pay them.", timeout=0)
        await run.complete(result.final_output)

The run's checkpoint holds the paused `RunState`, so that the same lines go on in another
process. What that state says to be approved lets nothing happen: the tool uses the
approval up itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, TypeVar

from agents import (
    Agent,
    FunctionTool,
    RunConfig,
    Runner,
    RunResult,
    RunState,
    SessionSettings,
    ToolApprovalItem,
    function_tool,
)
from agents.items import TResponseInputItem
from agents.memory import Session
from agents.memory.session_settings import resolve_session_limit
from agents.tool_context import ToolContext

from keyturn import calls
from keyturn.approved import around
from keyturn.asks import Ask, Risk
from keyturn.client import AsyncClient
from keyturn.documents import Approval, Item
from keyturn.errors import KeyturnError
from keyturn.flows import Flow, send
from keyturn.tool_calls import (
    Called,
    Output,
    Tool,
    act_on,
    arguments_of,
    read_call,
    refused,
    until_decided,
)
from keyturn.turns import async_turn_of
from keyturn.work import AsyncRun, checkpoint, pause

log = logging.getLogger("keyturn")

T = TypeVar("T")
Json = dict[str, Any]
_MOST = 10_000  # items in one answer of the server


class NotResumable(KeyturnError):
    """The saved state is not this agent's, or asks for what no person was asked about."""


# -- Conversations ----------------------------------------------------------------------


class KeyturnSession:
    """A `Session` of the SDK, kept as the agent's session of that name.

    Items come back as they were added, also what the SDK does not know. A write that
    was begun is finished before a cancellation goes on.
    """

    def __init__(
        self,
        client: AsyncClient,
        session_id: str,
        *,
        subject: str,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._client = client
        self._subject = subject
        self._session: str | None = None

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest `limit` items, in the order in which they were said."""
        wanted = resolve_session_limit(limit, self.session_settings)
        found = await self._client.drive(self._latest(wanted))
        return [one.data for one in found]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add all of them or none."""
        if items:
            await _settled(self._client.drive(self._add(items)))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest back. No two callers get the same."""
        popped = await _settled(self._client.drive(self._pop()))
        return None if popped is None else popped.data

    async def clear_session(self) -> None:
        """Take all items back; that it happened stays on record."""
        await _settled(self._client.drive(self._clear()))

    async def _atomic_replace_items(self, items: list[TResponseInputItem]) -> bool:
        await _settled(self._client.drive(self._replace(items)))
        return True

    def _id(self) -> Flow[str]:
        if self._session is None:
            opened = calls.open_session(
                subject=self._subject, external_id=self.session_id
            )
            self._session = (yield from send(self._client, opened)).id
        return self._session

    def _latest(self, wanted: int | None) -> Flow[list[Item]]:
        session = yield from self._id()
        found: list[Item] = []
        before = None
        while wanted is None or len(found) < wanted:
            left = _MOST if wanted is None else min(_MOST, wanted - len(found))
            page = yield from send(
                self._client, calls.list_items(session, limit=left, before=before)
            )
            found[:0] = page.items
            if not page.more:
                break
            before = found[0].position
        return found

    def _add(self, items: Sequence[Any]) -> Flow[None]:
        session = yield from self._id()
        yield from send(self._client, calls.append_items(session, items))

    def _pop(self) -> Flow[Item | None]:
        session = yield from self._id()
        return (yield from send(self._client, calls.pop_item(session))).item

    def _clear(self) -> Flow[None]:
        session = yield from self._id()
        yield from send(self._client, calls.clear_items(session))

    def _replace(self, items: Sequence[Any]) -> Flow[None]:
        session = yield from self._id()
        yield from send(self._client, calls.replace_items(session, items))


async def _settled(writing: Awaitable[T]) -> T:
    """What came of a write; a cancellation waits until that is known."""
    task = asyncio.ensure_future(writing)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()  # it is known, and no warning is due
        raise cancelled
    return task.result()


# -- Tools ------------------------------------------------------------------------------


@dataclass
class ApprovedTool(FunctionTool):
    """A tool that uses up the approval of its call before it acts."""

    asking: Tool = field(kw_only=True)


def approved_tool(
    *,
    name: str | None = None,
    risk: Risk | None = None,
    target: Callable[..., Any] | None = None,
    explanation: Callable[..., str] | None = None,
    external_id: Callable[[Any], str] | None = None,
    nothing_done: tuple[type[BaseException], ...] = (),
) -> Callable[[Callable[..., Any]], ApprovedTool]:
    """Make a tool of a function whose parameters are plain JSON values.

    Its name is the tool's name in Keyturn; the rest is as of `keyturn.tool_calls.Tool`.
    """

    def made(function: Callable[..., Any]) -> ApprovedTool:
        shown = function_tool(function, name_override=name)
        tool = Tool(
            name=shown.name,
            function=function,
            risk=risk,
            target=target,
            explanation=explanation,
            external_id=external_id,
            nothing_done=nothing_done,
        )
        return ApprovedTool(
            name=shown.name,
            description=shown.description,
            params_json_schema=shown.params_json_schema,
            strict_json_schema=shown.strict_json_schema,
            on_invoke_tool=_invoker(tool),
            needs_approval=True,
            asking=tool,
        )

    return made


def _invoker(tool: Tool) -> Callable[[ToolContext[Any], str], Awaitable[str]]:
    async def invoke(context: ToolContext[Any], given: str) -> str:
        run = around(AsyncRun)
        call = Called(
            id=context.tool_call_id, name=tool.name, arguments=arguments_of(given)
        )
        async with async_turn_of(run):
            output: Output = await run.drive(act_on(run, tool, call, timeout=0))
        return output.text

    return invoke


# -- Runs -------------------------------------------------------------------------------


async def run_agent(
    run: AsyncRun,
    agent: Agent[Any],
    start: str | list[TResponseInputItem],
    *,
    session: Session | None = None,
    context: dict[str, Any] | None = None,
    config: RunConfig | None = None,
    agent_version: str = "",
    timeout: float | None = None,
) -> RunResult:
    """Run the agent until it has an answer, through all that people must approve.

    Waits `timeout` seconds for people, then raises `Paused`. Another `agent_version`
    than that of the saved state raises `NotResumable`; so does an interruption of a tool
    that is no `approved_tool`. `context` is JSON, and saved with the state.
    """
    envelope = {"openai_agents": version("openai-agents"), "agent": agent_version}
    given: Any = start
    if run.state is not None:
        given = await _restored(run, agent, envelope)
        await _decide(run, given, envelope, timeout)
    while True:
        result = await _go_on(run, agent, given, envelope, session, context, config)
        if not result.interruptions:
            return result
        given = result.to_state()
        await _decide(run, given, envelope, timeout)


async def _go_on(
    run: AsyncRun,
    agent: Agent[Any],
    given: Any,
    envelope: Json,
    session: Session | None,
    context: dict[str, Any] | None,
    config: RunConfig | None,
) -> RunResult:
    is_resumed = isinstance(given, RunState)
    try:
        return await Runner.run(
            agent,
            given,
            session=session,
            context=None if is_resumed else context,
            run_config=config,
        )
    except Exception as error:
        if is_resumed:
            await _keep(run, given, envelope)
        if isinstance(error.__cause__, KeyturnError):
            raise error.__cause__ from error
        raise


async def _keep(run: AsyncRun, state: RunState[Any], envelope: Json) -> None:
    """Save the state as it became: what it did before it failed is not done again."""
    try:
        await run.drive(checkpoint(run, _saved(state, envelope)))
    except KeyturnError as error:
        log.warning("the state of run %s could not be saved: %s", run.id, error)


def _saved(state: RunState[Any], envelope: Json) -> Json:
    document = state.to_json(strict_context=True)
    schema = document["$schemaVersion"]
    return {**envelope, "schema": schema, "state": document}


async def _restored(
    run: AsyncRun, agent: Agent[Any], envelope: Json
) -> RunState[Any, Any]:
    saved = run.state
    if not isinstance(saved, dict) or "openai_agents" not in saved:
        raise NotResumable("the run's checkpoint is no state of this SDK")
    if saved["agent"] != envelope["agent"]:
        raise NotResumable(
            f"it was saved by version {saved['agent']!r} of the agent, "
            f"and this is {envelope['agent']!r}"
        )
    return await RunState.from_json(agent, saved["state"], strict_context=True)


async def _decide(
    run: AsyncRun, state: RunState[Any], envelope: Json, timeout: float | None
) -> None:
    """Ask about every interruption, and put the answers into the state."""
    items: dict[str, ToolApprovalItem] = {}
    asks: list[Ask] = []
    for one in state.get_interruptions():
        called, tool = _call_of(one), _tool_of(one)
        read = read_call(called, {tool.name: tool})
        if isinstance(read, Output):
            state.reject(one, rejection_message=read.text)
        else:
            items[called.id] = one
            asks.append(tool.ask(read[1]))
    if not asks:
        return
    asked = await run.drive(pause(run, asks, state=_saved(state, envelope)))
    decided = await run.drive(until_decided(run, asked, timeout=timeout))
    await run.refresh()
    for found in decided:
        _answer(state, items[str(found.tool_call_id)], found)


def _answer(state: RunState[Any], item: ToolApprovalItem, found: Approval) -> None:
    if found.next in ("redeem", "done"):
        state.approve(item)
    elif found.next == "use_answer":
        message = f"A reviewer answers: {found.response}"
        state.reject(item, rejection_message=message)
    else:
        state.reject(item, rejection_message=refused(found))


def _call_of(item: ToolApprovalItem) -> Called:
    raw = item.raw_item
    read = raw.get if isinstance(raw, dict) else lambda name: getattr(raw, name, None)
    id, name, arguments = read("call_id"), item.tool_name, read("arguments")
    if not id or not name or item.tool_namespace:
        raise NotResumable(f"{name or 'a tool'}: no function of this agent is meant")
    return Called(id=id, name=name, arguments=arguments or "{}")


def _tool_of(item: ToolApprovalItem) -> Tool:
    """How to ask. Tools that would act without using the approval up are refused."""
    for one in getattr(item.agent, "tools", ()):
        if isinstance(one, ApprovedTool) and one.name == item.tool_name:
            return one.asking
    raise NotResumable(f"{item.tool_name} needs approval, and is no approved_tool")
