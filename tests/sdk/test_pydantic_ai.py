"""Pydantic AI's deferred tools, with its own function model."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import keyturn
from keyturn.pydantic_ai import (
    ApprovedTool,
    NotResumable,
    approved_tool,
    run_agent,
)
from keyturn.testing import FakeApprover
from tests.sdk.worlds import World

PAYMENT = {"payee": "Halden Paper", "amount": "1240.00"}


def call(id: str, name: str, arguments: Any) -> ToolCallPart:
    return ToolCallPart(tool_name=name, args=arguments, tool_call_id=id)


class Bank:
    """An agent that says one answer after the other, and what came of its calls."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.looked = 0
        self.told: dict[str, Any] = {}

    @property
    def pay(self) -> ApprovedTool:
        @approved_tool(name="pay", external_id=str)
        def pay(payee: str, amount: str) -> str:
            """Pay somebody."""
            self.paid.append(amount)
            return f"PAY-{len(self.paid)}"

        return pay

    def look(self) -> str:
        self.looked += 1
        return "5"

    def agent(self, *answers: Any) -> Agent[None, Any]:
        left = iter(answers)

        def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            for one in (part for message in messages for part in message.parts):
                if isinstance(one, ToolReturnPart):
                    self.told[one.tool_call_id] = one.content
            answer = next(left)
            parts = [TextPart(answer)] if isinstance(answer, str) else answer
            return ModelResponse(parts=parts)

        return Agent(
            FunctionModel(say),
            tools=[self.pay, self.look],
            output_type=[str, DeferredToolRequests],
        )


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture
def people() -> Iterator[FakeApprover]:
    with FakeApprover() as people:
        yield people


def agreed(world: World | FakeApprover, bank: Bank, *answers: Any, **more: Any) -> Any:
    async def work() -> Any:
        async with (
            world.async_client() as client,
            client.run("TASK-1", subject="customer-7") as run,
        ):
            agent = bank.agent(*answers)
            return await run_agent(run, agent, "Pay.", tools=[bank.pay], **more)

    return asyncio.run(work()).output


def test_it_pauses_in_one_process_and_goes_on_in_another(
    world: World, bank: Bank
) -> None:
    asking = [call("call_1", "look", {}), call("call_2", "pay", PAYMENT)]
    with pytest.raises(keyturn.Paused) as caught:
        agreed(world, bank, asking, timeout=0)
    assert (bank.paid, bank.looked) == ([], 1)
    world.answer("edit", arguments={"amount": "1200.00"})
    with world.client() as client:
        client.wait(caught.value.approval.id)
    assert agreed(world, bank, "Paid.", timeout=30) == "Paid."
    assert '"amount":"1200.00"' in bank.told["call_2"]
    assert (bank.paid, bank.looked, world.questions()) == (["1200.00"], 1, 1)
    assert world.effects() == [("pay", "confirmed", "PAY-1")]


def test_several_calls_have_an_answer_each(people: FakeApprover, bank: Bank) -> None:
    people.approve("pay")
    more = {**PAYMENT, "amount": "2.00"}
    both = [call("call_1", "pay", PAYMENT), call("call_2", "pay", more)]
    agreed(people, bank, both, "Paid.")
    assert sorted(bank.paid) == ["1240.00", "2.00"]


@pytest.mark.parametrize(
    ("say", "told"),
    [
        (
            lambda people: people.reject("pay", reason="Not them"),
            "Not done, rejected by the reviewers: Not them",
        ),
        (
            lambda people: people.respond("pay", response="By hand."),
            "A reviewer answers: By hand.",
        ),
    ],
    ids=["rejected", "answered"],
)
def test_the_model_is_told_what_people_said(
    people: FakeApprover, bank: Bank, say: Callable[[FakeApprover], None], told: str
) -> None:
    say(people)
    agreed(people, bank, [call("call_1", "pay", PAYMENT)], "I see.")
    assert bank.told == {"call_1": told}
    assert bank.paid == []


def test_resumed_twice_it_pays_once(people: FakeApprover, bank: Bank) -> None:
    with pytest.raises(keyturn.Paused):
        agreed(people, bank, [call("call_1", "pay", PAYMENT)], timeout=0)
    people.approve("pay")
    agreed(people, bank, "Paid.")
    agreed(people, bank, "Paid.")
    assert bank.told["call_1"] == "Done as PAY-1; what it returned was not kept."
    assert bank.paid == ["1240.00"]


def test_an_edited_conversation_is_refused(people: FakeApprover, bank: Bank) -> None:
    with pytest.raises(keyturn.Paused):
        agreed(people, bank, [call("call_1", "pay", PAYMENT)], timeout=0)
    people.approve("pay")
    (saved,) = people._server.checkpoints.values()
    saved[-1]["payload"] = saved[-1]["payload"].replace("1240.00", "999999.00")
    with pytest.raises(keyturn.KeyReused):
        agreed(people, bank, "Paid.")
    assert bank.paid == []


@pytest.mark.parametrize("arguments", [{"payee": "x"}, "[1]", "{"], ids=repr)
def test_arguments_that_cannot_be_meant_ask_nobody(
    people: FakeApprover, bank: Bank, arguments: Any
) -> None:
    people.approve("pay")
    agreed(people, bank, [call("call_1", "pay", arguments)], "I see.")
    assert "call_1" in bank.told
    assert (people.asked, bank.paid) == ([], [])


def test_a_tool_that_would_act_by_itself_is_refused(people: FakeApprover) -> None:
    def fly() -> str:
        raise AssertionError

    def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[call("call_1", "fly", {})])

    agent: Agent[None, Any] = Agent(
        FunctionModel(say), output_type=[str, DeferredToolRequests]
    )
    agent.tool_plain(requires_approval=True)(fly)

    async def work() -> None:
        async with (
            people.async_client() as client,
            client.run("TASK-1", subject="customer-7") as run,
        ):
            await run_agent(run, agent, "Fly.", tools=[])

    with pytest.raises(NotResumable):
        asyncio.run(work())
    assert people.asked == []


def test_another_version_of_the_agent_does_not_go_on(
    people: FakeApprover, bank: Bank
) -> None:
    asking = [call("call_1", "pay", PAYMENT)]
    with pytest.raises(keyturn.Paused):
        agreed(people, bank, asking, timeout=0, agent_version="1")
    with pytest.raises(NotResumable):
        agreed(people, bank, agent_version="2")
