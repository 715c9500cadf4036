"""LangChain's agents: a middleware whose tool calls people approve.

    agent = create_agent(
        model, tools, middleware=[KeyturnMiddleware({"send_payment": Gated(risk="high")})],
        checkpointer=KeyturnSaver(client, subject="customer-7"),
    )
    with client.run("TASK-1", subject="customer-7"):
        answer = invoke(agent, start, config)

It does what LangChain's own `HumanInTheLoopMiddleware` does, without an interrupt: the
calls of one answer are asked about together, and each runs with the arguments that were
approved, once, however often the thread is resumed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from keyturn import work
from keyturn.approved import around
from keyturn.asks import Ask, Risk
from keyturn.errors import KeyturnError, NotExact
from keyturn.flows import Flow
from keyturn.interrupts import ainvoke as ainvoke
from keyturn.interrupts import invoke as invoke
from keyturn.tool_calls import Called, Output, Tool, act_on, arguments_of, until_decided
from keyturn.turns import async_turn_of, turn_of
from keyturn.work import AsyncRun, Run, Work

Json = dict[str, Any]
Told = ToolMessage | Command[Any]


class ToolFailed(KeyturnError):
    """The tool answered with an error: nobody knows what it has done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """How calls of one tool are asked about; `target`, `explanation` and `external_id`
    as of `keyturn.tool_calls.Tool`, the last made from what the tool says."""

    risk: Risk | None = None
    target: Callable[..., Any] | None = None
    explanation: Callable[..., str] | None = None
    external_id: Callable[[Any], str] | None = None
    nothing_done: tuple[type[BaseException], ...] = ()
    repeatable: bool = False

    def tool(self, name: str, function: Callable[..., Any]) -> Tool:
        return Tool(
            name=name,
            function=function,
            risk=self.risk,
            target=self.target,
            explanation=self.explanation,
            external_id=self.external_id,
            nothing_done=self.nothing_done,
            repeatable=self.repeatable,
        )


class KeyturnMiddleware(AgentMiddleware[Any, Any, Any]):  # type: ignore[misc]
    """Lets the named tools run only as people approved each call.

    The agent is called within a run's block: with `Run` the agent's synchronous methods
    work, with `AsyncRun` the others. Raises `Paused` while a person is missing, after
    `timeout` seconds; nothing that needs approval has happened then, and the same thread,
    invoked with `None`, goes on. What a tool raises, the agent raises; its outcome is then
    unknown unless `nothing_done` says otherwise.
    """

    def __init__(
        self,
        gated: Mapping[str, Gated] | Sequence[str],
        *,
        timeout: float | None = None,
    ) -> None:
        super().__init__()
        known = gated if isinstance(gated, Mapping) else dict.fromkeys(gated, Gated())
        self._gated: Mapping[str, Gated] = known
        self._timeout = timeout

    # -- Asking, once the model has spoken -----------------------------------------------

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> Json | None:
        if not (calls := self._calls_of(state)):
            return None
        run = around(Run)
        with turn_of(run):
            return run.drive(self._ask(run, calls))

    async def aafter_model(
        self, state: AgentState[Any], runtime: Runtime[Any]
    ) -> Json | None:
        if not (calls := self._calls_of(state)):
            return None
        run = around(AsyncRun)
        async with async_turn_of(run):
            return await run.drive(self._ask(run, calls))

    def _calls_of(self, state: AgentState[Any]) -> list[Called]:
        """The gated calls of what the model said last."""
        said = [one for one in state["messages"] if isinstance(one, AIMessage)]
        return [
            _called(one)
            for one in (said[-1].tool_calls if said else [])
            if one["name"] in self._gated
        ]

    def _ask(self, run: Work, calls: Sequence[Called]) -> Flow[Json | None]:
        """Ask about all at once, and wait. What cannot be asked is told to the model."""
        flaws, asks = [], []
        for call in calls:
            try:
                asks.append(self._ask_of(call))
            except (NotExact, TypeError, ValueError) as error:
                text = f"these arguments cannot be used: {error}"
                flaws.append(
                    _message(call, Output(id=call.id, text=text, is_error=True))
                )
        if asks:
            asked = yield from work.pause(run, asks)
            yield from until_decided(run, asked, timeout=self._timeout)
            yield from work.refresh(run)
        return {"messages": flaws} if flaws else None

    def _ask_of(self, call: Called) -> Ask:
        arguments_of(call.arguments)
        return self._gated[call.name].tool(call.name, _nothing).ask(call)

    # -- Acting ----------------------------------------------------------------------------

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Told]
    ) -> Told:
        call = _called(request.tool_call)
        if call.name not in self._gated:
            return handler(request)
        made: list[Told] = []

        def act(**arguments: Any) -> Any:
            made.append(_sound(handler(_with(request, arguments))))
            return _said(made[-1])

        run, tool = around(Run), self._gated[call.name].tool(call.name, act)
        with turn_of(run):
            output = run.drive(act_on(run, tool, call, timeout=self._timeout))
        return _told(call, output, made)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[Told]],
    ) -> Told:
        call = _called(request.tool_call)
        if call.name not in self._gated:
            return await handler(request)
        made: list[Told] = []

        async def act(**arguments: Any) -> Any:
            made.append(_sound(await handler(_with(request, arguments))))
            return _said(made[-1])

        run, tool = around(AsyncRun), self._gated[call.name].tool(call.name, act)
        async with async_turn_of(run):
            output = await run.drive(act_on(run, tool, call, timeout=self._timeout))
        return _told(call, output, made)


def _called(call: Mapping[str, Any]) -> Called:
    if not call["id"]:
        raise ToolFailed(
            f"a call of {call['name']} has no id, so nobody can approve it"
        )
    return Called(id=call["id"], name=call["name"], arguments=call["args"])


def _nothing(**arguments: Any) -> None:
    raise NotImplementedError


def _with(request: ToolCallRequest, arguments: Json) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": arguments})


def _sound(told: Told) -> Told:
    """Raises `ToolFailed` for what the framework made of an error of the tool."""
    if isinstance(told, ToolMessage) and told.status == "error":
        raise ToolFailed(str(told.content))
    return told


def _said(told: Told) -> Any:
    return told.content if isinstance(told, ToolMessage) else None


def _told(call: Called, output: Output, made: Sequence[Told]) -> Told:
    """What the model hears: of a call that ran, what the tool said, and any edit."""
    if not made:
        return _message(call, output)
    told = made[-1]
    if isinstance(told, ToolMessage) and isinstance(told.content, str):
        return told.model_copy(update={"content": output.text})
    return told


def _message(call: Called, output: Output) -> ToolMessage:
    status = "error" if output.is_error else "success"
    return ToolMessage(
        content=output.text, name=call.name, tool_call_id=call.id, status=status
    )
