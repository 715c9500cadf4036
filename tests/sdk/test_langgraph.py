"""LangGraph's threads in Keyturn, held against LangGraph's own conformance suite."""

import asyncio
import operator
from collections.abc import AsyncGenerator, Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import (
    BASE_CAPABILITIES,
    Capability,
)
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from keyturn import Client
from keyturn.langgraph import KeyturnSaver
from tests.sdk.worlds import Real

PASSES = BASE_CAPABILITIES | {Capability.COPY_THREAD}


class State(TypedDict):
    said: Annotated[list[Any], operator.add]


def built(saver: KeyturnSaver) -> CompiledStateGraph[State]:
    graph = StateGraph(State)
    graph.add_node("greet", lambda state: {"said": [HumanMessage("Hello")]})
    graph.add_node("part", lambda state: {"said": ["Bye"]})
    graph.add_edge(START, "greet")
    graph.add_edge("greet", "part")
    graph.add_edge("part", END)
    return graph.compile(checkpointer=saver)


@pytest.fixture
def client(real: Real) -> Iterator[Client]:
    with real.client() as client:
        yield client


def config(thread: str = "t") -> Any:
    return {"configurable": {"thread_id": thread}}


def test_it_passes_the_conformance_suite(real: Real) -> None:
    async def fresh() -> AsyncGenerator[KeyturnSaver]:
        async with real.async_client() as client:
            yield KeyturnSaver(client, subject="customer-7")

    registered = checkpointer_test(name="Keyturn")(fresh)
    report = asyncio.run(validate(registered))
    failures = [one.failures for one in report.results.values() if one.failures]
    passed = {name for name, one in report.results.items() if one.passed}
    assert (failures, passed) == ([], {one.value for one in PASSES})


def test_another_process_goes_on_with_the_thread(client: Client, real: Real) -> None:
    graph = built(KeyturnSaver(client, subject="customer-7"))
    graph.invoke({"said": []}, config())
    with real.client() as other:
        again = built(KeyturnSaver(other, subject="customer-7"))
        said = again.get_state(config()).values["said"]
        assert (type(said[0]), said[0].content, said[1]) == (
            HumanMessage,
            "Hello",
            "Bye",
        )
        assert len(again.invoke({"said": ["More"]}, config())["said"]) == 5
        threads = KeyturnSaver(other, subject="customer-7").list(None)
        assert {one.config["configurable"]["thread_id"] for one in threads} == {"t"}


def test_reading_makes_nothing(client: Client) -> None:
    saver = KeyturnSaver(client, subject="customer-7")
    assert saver.get_tuple(config("nothing")) is None
    saver.delete_thread("nothing")
    assert client.list_sessions().items == ()


def test_it_runs_on_an_event_loop(real: Real) -> None:
    async def work() -> Any:
        async with real.async_client() as client:
            saver = KeyturnSaver(client, subject="customer-7")
            found = await built(saver).ainvoke({"said": []}, config())
            with pytest.raises(TypeError):
                saver.get_tuple(config())
            return found

    assert len(asyncio.run(work())["said"]) == 2


class Unsafe:
    """A type of the agent's own, which a checkpoint must not bring to life."""

    def __init__(self) -> None:
        self.made = True


def test_no_type_outside_the_safe_list_is_kept_or_made(client: Client) -> None:
    graph = StateGraph(State)
    graph.add_node("make", lambda state: {"said": [Unsafe()]})
    graph.add_edge(START, "make")
    made = graph.compile(checkpointer=KeyturnSaver(client, subject="customer-7"))
    with pytest.raises(TypeError):
        made.invoke({"said": []}, config())
