"""A model's tool calls, settled as a batch: asked together, each acted on at most once.

What every adapter shares. The calls that need nobody run first; the others are asked in
one pause. When all have their answer, each is redeemed, carried out with the approved
arguments, and reported; what the model is told comes back in the order of the calls.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from keyturn import calls, exact, work
from keyturn.acting import Action
from keyturn.asks import Ask, Risk
from keyturn.documents import Approval
from keyturn.errors import (
    Answered,
    DoneAlready,
    NotApproved,
    NotExact,
    Paused,
    VerificationRefused,
)
from keyturn.flows import Flow, Invoke, send, wait
from keyturn.work import Work

ASK_AGAIN = "Ask again, differently: "
A_MOMENT = 10.0  # seconds in which the server notices that a pause is decided


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may call, by its name.

    Without `needs_approval` it runs at once, again after a crash in it. `target` and
    `explanation` are made from the call's arguments; the rest is as of `Action`.
    """

    function: Callable[..., Any]
    name: str
    needs_approval: bool = True
    risk: Risk | None = None
    target: Callable[..., Any] | None = None
    explanation: Callable[..., str] | None = None
    external_id: Callable[[Any], str] | None = None
    nothing_done: tuple[type[BaseException], ...] = ()
    repeatable: bool = False

    def fits(self, arguments: Mapping[str, Any]) -> object:
        return inspect.signature(self.function).bind(**arguments)

    def ask(self, call: Called) -> Ask:
        given = call.arguments
        return Ask(
            tool=self.name,
            arguments=given,
            target=self.target(**given) if self.target else None,
            explanation=self.explanation(**given) if self.explanation else "",
            tool_call_id=call.id,
            risk=self.risk,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """One call as the model made it; `arguments` may still be text."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What the model is told of one call."""

    id: str
    text: str
    is_error: bool = False


Told = dict[str, dict[str, Any]]


def settle(
    run: Work,
    called: Sequence[Called],
    tools: Sequence[Tool],
    state: dict[str, Any],
    *,
    timeout: float | None = None,
) -> Flow[list[Output]]:
    """Settle all calls; `state["outputs"]` holds what is settled, at each checkpoint.

    Raises `Paused` while a person is missing, with nothing of what needs approval done.
    """
    known = {tool.name: tool for tool in tools}
    told: Told = state.setdefault("outputs", {})
    gated: list[tuple[Tool, Called]] = []
    for one in called:
        if one.id in told:
            continue
        read = read_call(one, known)
        if isinstance(read, Output):
            told[one.id] = asdict(read)
        elif read[0].needs_approval:
            gated.append(read)
        else:
            told[one.id] = asdict((yield from _at_once(*read)))
    yield from _settle_gated(run, gated, state, timeout)
    return [Output(**told[one.id]) for one in called]


def read_call(one: Called, known: Mapping[str, Tool]) -> tuple[Tool, Called] | Output:
    """The tool and the call with its arguments read, or what is wrong with it."""
    tool = known.get(one.name)
    if tool is None:
        return _flaw(one, f"there is no tool {one.name}")
    try:
        arguments = arguments_of(one.arguments)
        tool.fits(arguments)
    except (NotExact, TypeError, ValueError) as error:
        return _flaw(one, f"these arguments cannot be used: {error}")
    return tool, Called(id=one.id, name=one.name, arguments=arguments)


def arguments_of(given: Any) -> dict[str, Any]:
    """Arguments as a dict. Raises ValueError for text that is no JSON object, and
    `NotExact`."""
    read = json.loads(given) if isinstance(given, str) else given
    if type(read) is not dict:
        raise ValueError("they are no object")
    exact.check(read)
    return read


def _flaw(one: Called, why: str) -> Output:
    return Output(id=one.id, text=why, is_error=True)


def _at_once(tool: Tool, call: Called) -> Generator[Any, Any, Output]:
    try:
        result = yield Invoke(tool.function, call.arguments)
    except Exception as error:
        return _flaw(call, f"{type(error).__name__}: {error}")
    return Output(id=call.id, text=text_of(result))


def _settle_gated(
    run: Work,
    gated: Sequence[tuple[Tool, Called]],
    state: dict[str, Any],
    timeout: float | None,
) -> Flow[None]:
    if not gated:
        return
    asks = [tool.ask(call) for tool, call in gated]
    asked = yield from work.pause(run, asks, state=state)
    yield from until_decided(run, asked, timeout=timeout)
    yield from work.refresh(run)
    for tool, call in gated:
        output = yield from act_on(run, tool, call, timeout=timeout)
        state["outputs"][call.id] = asdict(output)
        if run.document.state == "running":  # else others of the pause come first
            yield from work.checkpoint(run, state)


def until_decided(
    run: Work, asked: Sequence[Approval], *, timeout: float | None
) -> Flow[list[Approval]]:
    """Wait until all have their answer and may be used; as they are then.

    A question that shall be asked differently is taken back: the agent asks anew.
    Raises `Paused`, for the first that nobody has answered.
    """
    end = math.inf if timeout is None else run.now() + timeout
    decided = []
    for one in asked:
        found = yield from wait(run, one.id, until="decided", timeout=_left(run, end))
        if found.status == "pending":
            raise Paused(found)
        if found.next == "revise":
            reason = ASK_AGAIN + found.reason
            yield from send(run, calls.withdraw_approval(one.id, reason=reason))
        decided.append(found.id)
    return (yield from _usable(run, decided, end))


def _usable(run: Work, decided: Sequence[str], end: float) -> Flow[list[Approval]]:
    """The last answer closes the pause a moment later."""
    usable = []
    for one in decided:
        found = yield from wait(run, one, timeout=_patient(run, end))
        if found.next == "wait":
            raise Paused(found)
        usable.append(found)
    return usable


def _patient(run: Work, end: float) -> float | None:
    left = _left(run, end)
    return None if left is None else max(A_MOMENT, left)


def _left(run: Work, end: float) -> float | None:
    return None if end == math.inf else max(0.0, end - run.now())


def act_on(
    run: Work, tool: Tool, call: Called, *, timeout: float | None = None
) -> Flow[Output]:
    """Redeem the call's approval, act with its arguments, report; what to tell the model.

    Raises `InDoubt`, `Paused`, and `VerificationRefused` unless that is final.
    """
    taken: list[Mapping[str, Any]] = []

    def act(**arguments: Any) -> Any:
        taken.append(arguments)
        return tool.function(**arguments)

    action = Action(
        function=act,
        fits=tool.fits,
        nothing_done=tool.nothing_done,
        external_id=tool.external_id,
        repeatable=tool.repeatable,
    )
    try:
        result = yield from work.act(run, tool.ask(call), action, timeout=timeout)
    except Answered as answered:
        return Output(id=call.id, text=f"A reviewer answers: {answered.response}")
    except NotApproved as why:
        return _flaw(call, refused(why.approval))
    except DoneAlready as done:
        return _done_before(call, done.approval)
    except VerificationRefused as why:
        if why.refusal_class != "stop":
            raise
        return _flaw(call, f"Not done: {why.detail}")
    except action.failures as error:
        return _flaw(call, f"Not done: {error}")
    return Output(id=call.id, text=_with_edit(call, taken[-1], text_of(result)))


def refused(approval: Approval) -> str:
    """What the model is told of a question that will not happen."""
    if approval.reason.startswith(ASK_AGAIN):
        return f"Not done. {approval.reason}"
    said = f": {approval.reason}" if approval.reason else "."
    return f"Not done, {approval.status} by the reviewers{said}"


def _done_before(call: Called, approval: Approval) -> Output:
    effect = approval.effect
    if effect is None or effect.state != "confirmed":
        return _flaw(call, "An earlier attempt failed; nothing was done.")
    named = f" as {effect.external_id}" if effect.external_id else ""
    return Output(id=call.id, text=f"Done{named}; what it returned was not kept.")


def _with_edit(call: Called, taken: Mapping[str, Any], text: str) -> str:
    if exact.same(dict(taken), call.arguments):
        return text
    changed = exact.encode(dict(taken), in_order=True).decode()
    return f"A reviewer changed the arguments to {changed}. Result: {text}"


def text_of(result: Any) -> str:
    """A result as a model reads it."""
    if isinstance(result, str):
        return result
    return json.dumps(result, default=str, ensure_ascii=False)
