"""The loop around a model that calls tools, for two providers' plain JSON shapes.

    with client.run("TASK-7", subject="customer-7") as run:
        messages = run.drive(anthropic_messages(run, model, tools, start, timeout=0))
        run.complete()

`model(messages=…)` calls the provider, and returns its answer: a dict, or an object with
`model_dump`. The run's checkpoints hold the conversation, so that the same lines in
another process go on where this one stopped. With an `AsyncRun`, await `run.drive(…)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from keyturn.errors import Unintelligible
from keyturn.flows import Flow, Invoke
from keyturn.tool_calls import Called, Output, Tool, settle
from keyturn.work import Work, checkpoint

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """How one provider writes calls and their outputs."""

    said: Callable[[Json], list[Json]]
    calls: Callable[[Json], list[Called]]
    results: Callable[[Sequence[Output]], list[Json]]


def anthropic_messages(
    run: Work,
    model: Callable[..., Any],
    tools: Sequence[Tool],
    start: Iterable[Json],
    *,
    timeout: float | None = None,
) -> Flow[list[Json]]:
    """Go on until the model calls no tool; the messages of the Messages API.

    Waits `timeout` seconds for people, then raises `Paused`.
    """
    return _talk(run, MESSAGES, model, tools, start, timeout)


def openai_responses(
    run: Work,
    model: Callable[..., Any],
    tools: Sequence[Tool],
    start: Iterable[Json],
    *,
    timeout: float | None = None,
) -> Flow[list[Json]]:
    """The same with the items of the Responses API: `model(messages=…)` is given its
    `input`, without `previous_response_id`."""
    return _talk(run, RESPONSES, model, tools, start, timeout)


def _talk(
    run: Work,
    shape: Shape,
    model: Callable[..., Any],
    tools: Sequence[Tool],
    start: Iterable[Json],
    timeout: float | None,
) -> Flow[list[Json]]:
    state = _state_of(run, start)
    while not state["done"]:
        called = [Called(**one) for one in state["calls"]]
        if called:
            outputs = yield from settle(run, called, tools, state, timeout=timeout)
            state = _state([*state["messages"], *shape.results(outputs)])
        else:
            answer = plain((yield Invoke(model, {"messages": state["messages"]})))
            state = _answered(shape, state["messages"], answer)
        yield from checkpoint(run, state)
    messages: list[Json] = state["messages"]
    return messages


def _state_of(run: Work, start: Iterable[Json]) -> Json:
    if run.state is None:
        return _state(list(start))
    if not isinstance(run.state, dict) or run.state.keys() != _state([]).keys():
        raise Unintelligible("the run's checkpoint is none of this loop")
    return run.state


def _state(messages: list[Json], calls: Sequence[Called] = ()) -> Json:
    called = [asdict(one) for one in calls]
    return {"messages": messages, "calls": called, "outputs": {}, "done": False}


def _answered(shape: Shape, messages: list[Json], answer: Json) -> Json:
    calls = shape.calls(answer)
    state = _state([*messages, *shape.said(answer)], calls)
    return {**state, "done": not calls}


def plain(answer: Any) -> Json:
    """A provider's answer as JSON. Raises `Unintelligible`."""
    dump = getattr(answer, "model_dump", None)
    read = answer if dump is None else dump(mode="json", exclude_unset=True)
    if type(read) is not dict:
        raise Unintelligible(f"a {type(answer).__name__} is no answer of a model")
    return read


# -- Anthropic Messages -----------------------------------------------------------------


def _messages_said(answer: Json) -> list[Json]:
    return [{"role": "assistant", "content": answer["content"]}]


def _messages_calls(answer: Json) -> list[Called]:
    return [
        Called(id=one["id"], name=one["name"], arguments=one["input"])
        for one in answer["content"]
        if one["type"] == "tool_use"
    ]


def _messages_results(outputs: Sequence[Output]) -> list[Json]:
    blocks = [
        {
            "type": "tool_result",
            "tool_use_id": one.id,
            "content": one.text,
            "is_error": one.is_error,
        }
        for one in outputs
    ]
    return [{"role": "user", "content": blocks}]


# -- OpenAI Responses -------------------------------------------------------------------


def _responses_said(answer: Json) -> list[Json]:
    return list(answer["output"])


def _responses_calls(answer: Json) -> list[Called]:
    return [
        Called(id=one["call_id"], name=one["name"], arguments=one["arguments"])
        for one in answer["output"]
        if one["type"] == "function_call"
    ]


def _responses_results(outputs: Sequence[Output]) -> list[Json]:
    return [
        {"type": "function_call_output", "call_id": one.id, "output": one.text}
        for one in outputs
    ]


MESSAGES = Shape(_messages_said, _messages_calls, _messages_results)
RESPONSES = Shape(_responses_said, _responses_calls, _responses_results)
