"""LangGraph's interrupts as questions, and their answers as the command that resumes.

    with client.run("TASK-7", subject="customer-7") as run:
        found = invoke(graph, start, config)
        while found.get("__interrupt__"):
            command = run.drive(resume(run, found["__interrupt__"], timeout=0))
            found = graph.invoke(command, config)

LangChain's shapes are known: those of its agents' middleware, `HITLRequest` and, where it
asks about each call alone (`per_call`), `ToolApprovalRequest`; and `HumanInterrupt`, alone
or in a list. A node acts through `keyturn.approved.as_approved`:
the command itself lets nothing happen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Interrupt

from keyturn import exact, work
from keyturn.asks import Ask, Verdict
from keyturn.documents import Approval
from keyturn.errors import KeyturnError
from keyturn.flows import Flow
from keyturn.tool_calls import until_decided
from keyturn.work import Work

Json = dict[str, Any]
_ALLOWED: Mapping[str, Verdict] = {
    "allow_accept": "approve",
    "allow_edit": "edit",
    "allow_respond": "respond",
}
EVERY: Sequence[Verdict] = ("approve", "edit", "reject", "respond")


class NotUnderstood(KeyturnError):
    """An interrupt that is in none of the shapes."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One interrupt: its questions, and how their answers are put together."""

    id: str
    asks: Sequence[Ask]
    answer: Callable[[Sequence[Approval]], Any]

    def __post_init__(self) -> None:
        if not self.asks:
            raise NotUnderstood(f"interrupt {self.id} asks about nothing")


def resume(
    run: Work, interrupts: Sequence[Interrupt[Any]], *, timeout: float | None = None
) -> Flow[Command[Any]]:
    """Ask about every action, wait, and build the command from the answers.

    The same interrupts find the same questions, so that the command is the same whoever
    builds it. Raises `Paused` while an answer is missing, and `NotUnderstood`.
    """
    read = [_read(one) for one in interrupts]
    asks = [ask for one in read for ask in one.asks]
    asked = yield from work.pause(run, asks)
    decided = yield from until_decided(run, asked, timeout=timeout)
    yield from work.refresh(run)
    of = {one.tool_call_id: one for one in decided}
    answers = {
        one.id: one.answer([of[ask.tool_call_id] for ask in one.asks]) for one in read
    }
    return Command(resume=answers)


def invoke(graph: Any, start: Any, config: RunnableConfig) -> Any:
    """Begin a thread, or go on with it from wherever it stopped.

    To begin it again would ask again: its interrupts would be others.
    """
    begun = graph.get_state(config).next
    return graph.invoke(None if begun else start, config)


async def ainvoke(graph: Any, start: Any, config: RunnableConfig) -> Any:
    """The same on an event loop."""
    begun = (await graph.aget_state(config)).next
    return await graph.ainvoke(None if begun else start, config)


# -- Reading interrupts -----------------------------------------------------------------


def _read(interrupt: Interrupt[Any]) -> Asking:
    value = interrupt.value
    try:
        if isinstance(value, Mapping) and "action_requests" in value:
            return _of_middleware(interrupt.id, value)
        if isinstance(value, Mapping) and value.get("type") == "tool_approval":
            return _of_call(interrupt.id, value, interrupt.response_schema)
        if isinstance(value, Mapping):
            one = _of_human(interrupt.id, [value])
            return Asking(one.id, one.asks, lambda found: one.answer(found)[0])
        return _of_human(interrupt.id, value)
    except (KeyError, TypeError, AttributeError) as error:
        raise NotUnderstood(f"interrupt {interrupt.id}: {error!r}") from error


def _of_middleware(id: str, value: Mapping[str, Any]) -> Asking:
    allowed = {
        one["action_name"]: one["allowed_decisions"]
        for one in value.get("review_configs", ())
    }
    asks = [
        _ask(
            f"{id}/{number}",
            tool=one["name"],
            arguments=one["args"],
            explanation=one.get("description") or "",
            allowed=[*allowed.get(one["name"], ("approve",)), "reject"],
        )
        for number, one in enumerate(value["action_requests"])
    ]

    def answer(found: Sequence[Approval]) -> Json:
        decided = zip(asks, found, strict=True)
        return {"decisions": [_decision(ask, one) for ask, one in decided]}

    return Asking(id, asks, answer)


def _of_call(id: str, value: Mapping[str, Any], schema: Any) -> Asking:
    ask = _ask(
        f"{id}/{value['tool_call_id']}",
        tool=value["name"],
        arguments=value["args"],
        explanation=value["description"],
        allowed=[*_verdicts(schema), "reject"],
    )
    return Asking(id, [ask], lambda found: _decision(ask, found[0]))


def _verdicts(schema: Any) -> Sequence[str]:
    """What a JSON Schema of answers allows: one of several kinds, or a single one."""
    if not isinstance(schema, Mapping):
        return EVERY
    if "discriminator" in schema:
        return list(schema["discriminator"]["mapping"])
    return [schema["properties"]["type"]["const"]]


def _of_human(id: str, values: Sequence[Mapping[str, Any]]) -> Asking:
    asks = [
        _ask(
            f"{id}/{number}",
            tool=one["action_request"]["action"],
            arguments=one["action_request"]["args"],
            explanation=one.get("description") or "",
            allowed=[
                *(verdict for name, verdict in _ALLOWED.items() if one["config"][name]),
                "reject",
            ],
        )
        for number, one in enumerate(values)
    ]

    def answer(found: Sequence[Approval]) -> list[Json]:
        decided = zip(asks, values, found, strict=True)
        return [_response(ask, one["config"], now) for ask, one, now in decided]

    return Asking(id, asks, answer)


def _ask(
    id: str, *, tool: str, arguments: Any, explanation: str, allowed: Sequence[Any]
) -> Ask:
    """Two interrupts of one node share an id: what they ask tells them apart."""
    digest = sha256(exact.encode([tool, arguments])).hexdigest()
    return Ask(
        tool=tool,
        arguments=arguments,
        explanation=explanation,
        tool_call_id=f"{id}/{digest[:16]}",
        allowed_decisions=list(dict.fromkeys(allowed)),
    )


# -- Writing answers --------------------------------------------------------------------


def _is_edited(ask: Ask, found: Approval) -> bool:
    return not exact.same(found.arguments, dict(ask.arguments))


def _is_approved(found: Approval) -> bool:
    return found.status in ("approved", "consumed")


def _decision(ask: Ask, found: Approval) -> Json:
    if _is_approved(found) and _is_edited(ask, found):
        action = {"name": ask.tool, "args": found.arguments}
        return {"type": "edit", "edited_action": action}
    if _is_approved(found):
        return {"type": "approve"}
    if found.status == "answered":
        return {"type": "respond", "message": _text(found.response)}
    return {"type": "reject", "message": _refusal(found)}


def _response(ask: Ask, config: Mapping[str, bool], found: Approval) -> Json:
    if _is_approved(found) and _is_edited(ask, found):
        action = {"action": ask.tool, "args": found.arguments}
        return {"type": "edit", "args": action}
    if _is_approved(found):
        return {"type": "accept", "args": None}
    if found.status == "answered":
        return {"type": "response", "args": _text(found.response)}
    if config["allow_respond"]:
        return {"type": "response", "args": _refusal(found)}
    return {"type": "ignore", "args": None}


def _text(response: Any) -> str:
    return response if isinstance(response, str) else exact.encode(response).decode()


def _refusal(found: Approval) -> str:
    return found.reason or f"Not done: {found.status}."
