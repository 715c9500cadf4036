"""Pydantic AI: deferred tools that people approve.

    @approved_tool(external_id=str)
    def send_payment(payee: str, amount: str) -> str: ...

    agent = Agent(model, tools=[send_payment], output_type=[str, DeferredToolRequests])
    async with client.run("TASK-7", subject="customer-7") as run:
        result = await run_agent(run, agent, "Pay them.", timeout=0)
        await run.complete(result.output)

The run's checkpoint holds the messages, so that the same lines go on in another process.
What is passed on as approved lets nothing happen: the tool uses the approval up itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from pydantic_ai import (
    Agent,
    AgentRunResult,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
    RunContext,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai import Tool as Shown
from pydantic_ai.messages import ToolCallPart

from keyturn.approved import around
from keyturn.asks import Ask, Risk
from keyturn.documents import Approval
from keyturn.errors import KeyturnError
from keyturn.tool_calls import (
    Called,
    Output,
    Tool,
    act_on,
    read_call,
    refused,
    until_decided,
)
from keyturn.turns import async_turn_of
from keyturn.work import AsyncRun, pause

Json = dict[str, Any]
Answer = ToolApproved | ToolDenied


class NotResumable(KeyturnError):
    """What is saved is not this agent's, or waits for something that nobody approves."""


class ApprovedTool(Shown[Any]):
    """A tool that uses up the approval of its call before it acts."""

    asking: Tool


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
        shown: Shown[Any] = Shown(function, takes_ctx=False, name=name)
        tool = Tool(
            name=shown.name,
            function=function,
            risk=risk,
            target=target,
            explanation=explanation,
            external_id=external_id,
            nothing_done=nothing_done,
        )
        return _deferred(shown, tool)

    return made


def _deferred(shown: Shown[Any], tool: Tool) -> ApprovedTool:
    async def act(context: RunContext[Any], **arguments: Any) -> str:
        run = around(AsyncRun)
        call = Called(id=str(context.tool_call_id), name=tool.name, arguments=arguments)
        async with async_turn_of(run):
            output: Output = await run.drive(act_on(run, tool, call, timeout=0))
        return output.text

    made = ApprovedTool.from_schema(
        act,
        name=shown.name,
        description=shown.description,
        json_schema=shown.function_schema.json_schema,
        takes_ctx=True,
    )
    made.requires_approval = True
    made.asking = tool
    return made


async def run_agent(
    run: AsyncRun,
    agent: Agent[Any, Any],
    prompt: str,
    *,
    tools: Sequence[ApprovedTool],
    deps: Any = None,
    agent_version: str = "",
    timeout: float | None = None,
) -> AgentRunResult[Any]:
    """Run the agent until it has an answer, through all that people must approve.

    `tools` are those of the agent that people approve. Waits `timeout` seconds for
    people, then raises `Paused`. Another `agent_version` than the saved one raises
    `NotResumable`; so does a call of any other tool that waits.
    """
    known = {one.asking.name: one.asking for one in tools}
    envelope = {"pydantic_ai": version("pydantic-ai-slim"), "agent": agent_version}
    if run.state is None:
        result = await agent.run(prompt, deps=deps)
    else:
        result = await _go_on(run, agent, known, _saved(run, envelope), deps, timeout)
    while isinstance(result.output, DeferredToolRequests):
        state = {**envelope, **_as_json(result)}
        result = await _go_on(run, agent, known, state, deps, timeout)
    return result


def _as_json(result: AgentRunResult[Any]) -> Json:
    """The conversation, and the calls that wait: any JSON, and nothing else."""
    requests: DeferredToolRequests = result.output
    if requests.calls:
        raise NotResumable(f"{requests.calls[0].tool_name} is answered from outside")
    messages = result.all_messages()
    waiting = [
        {"id": one.tool_call_id, "name": one.tool_name, "arguments": _given(one)}
        for one in requests.approvals
    ]
    dumped = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
    return {"messages": dumped, "waiting": waiting}


def _given(call: ToolCallPart) -> Any:
    return {} if call.args is None else call.args


def _saved(run: AsyncRun, envelope: Json) -> Json:
    saved = run.state
    if not isinstance(saved, dict) or "pydantic_ai" not in saved:
        raise NotResumable("the run's checkpoint is no state of this framework")
    if saved["agent"] != envelope["agent"]:
        raise NotResumable(
            f"it was saved by version {saved['agent']!r} of the agent, "
            f"and this is {envelope['agent']!r}"
        )
    return saved


async def _go_on(
    run: AsyncRun,
    agent: Agent[Any, Any],
    known: Mapping[str, Tool],
    state: Json,
    deps: Any,
    timeout: float | None,
) -> AgentRunResult[Any]:
    answers = await _answers(run, known, state, timeout)
    return await agent.run(
        message_history=ModelMessagesTypeAdapter.validate_python(state["messages"]),
        deferred_tool_results=DeferredToolResults(approvals=answers),
        deps=deps,
    )


async def _answers(
    run: AsyncRun, known: Mapping[str, Tool], state: Json, timeout: float | None
) -> dict[str, bool | Answer]:
    """Ask about every call, and wait for all the answers."""
    answers: dict[str, bool | Answer] = {}
    asks: list[Ask] = []
    for one in state["waiting"]:
        called = Called(**one)
        if called.name not in known:
            raise NotResumable(f"{called.name} waits, and is no approved_tool")
        read = read_call(called, known)
        if isinstance(read, Output):
            answers[called.id] = ToolDenied(read.text)
        else:
            asks.append(read[0].ask(read[1]))
    asked = await run.drive(pause(run, asks, state=state)) if asks else []
    decided = await run.drive(until_decided(run, asked, timeout=timeout))
    await run.refresh()
    return answers | {str(one.tool_call_id): _answer(one) for one in decided}


def _answer(found: Approval) -> Answer:
    if found.next in ("redeem", "done"):
        return ToolApproved()
    if found.next == "use_answer":
        return ToolDenied(f"A reviewer answers: {found.response}")
    return ToolDenied(refused(found))
