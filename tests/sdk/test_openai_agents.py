"""OpenAI's Agents SDK with a model that says what it is told to say."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from agents import (
    Agent,
    Model,
    ModelResponse,
    Usage,
    UserError,
    function_tool,
    set_tracing_disabled,
)
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

import keyturn
from keyturn import AsyncRun
from keyturn.openai_agents import (
    KeyturnSession,
    NotResumable,
    approved_tool,
    run_agent,
)
from keyturn.testing import FakeApprover
from tests.sdk.worlds import Real, World

PAYMENT = {"payee": "Halden Paper", "amount": "1240.00"}
set_tracing_disabled(True)


class Scripted(Model):
    """Says one answer after the other, and remembers what it was given."""

    def __init__(self, *answers: Any) -> None:
        self.answers = iter(answers)
        self.given: list[Any] = []

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        given = args[1] if len(args) > 1 else kwargs["input"]
        self.given.append(given)
        return ModelResponse(output=next(self.answers), usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def call(id: str, name: str, **arguments: Any) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", call_id=id, name=name, arguments=json.dumps(arguments)
    )


def says(text: str) -> list[Any]:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    message = ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=[content]
    )
    return [message]


class Bank:
    def __init__(self) -> None:
        self.paid: list[str] = []
        self.looked = 0

    def agent(self, *answers: Any) -> Agent[Any]:
        @approved_tool(name="pay", external_id=str)
        def pay(payee: str, amount: str) -> str:
            """Pay somebody."""
            self.paid.append(amount)
            return f"PAY-{len(self.paid)}"

        @function_tool
        def look() -> str:
            self.looked += 1
            return "5"

        return Agent(name="Clerk", model=Scripted(*answers), tools=[pay, look])


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture
def people() -> Iterator[FakeApprover]:
    with FakeApprover() as people:
        yield people


@asynccontextmanager
async def opened(world: World | FakeApprover) -> AsyncIterator[AsyncRun]:
    async with (
        world.async_client() as client,
        client.run("TASK-1", subject="customer-7") as run,
    ):
        yield run


async def agreed(world: World | FakeApprover, agent: Agent[Any], **more: Any) -> Any:
    async with opened(world) as run:
        return await run_agent(run, agent, "Pay.", **more)


def outputs(agent: Agent[Any]) -> dict[str, str]:
    """What the model was told at last of each call."""
    assert isinstance(agent.model, Scripted)
    return {
        one["call_id"]: one["output"]
        for one in agent.model.given[-1]
        if one.get("type") == "function_call_output"
    }


# -- Pausing and resuming ---------------------------------------------------------------


def test_it_pauses_in_one_process_and_goes_on_in_another(
    world: World, bank: Bank
) -> None:
    asking = bank.agent([call("call_1", "look"), call("call_2", "pay", **PAYMENT)])
    with pytest.raises(keyturn.Paused) as caught:
        asyncio.run(agreed(world, asking, timeout=0))
    assert (bank.paid, bank.looked) == ([], 1)
    world.answer("edit", arguments={"amount": "1200.00"})
    with world.client() as client:
        client.wait(caught.value.approval.id)
    going_on = bank.agent(says("Paid."))
    result = asyncio.run(agreed(world, going_on, timeout=30))
    assert result.final_output == "Paid."
    told = outputs(going_on)
    assert told["call_1"] == "5"
    assert '"amount":"1200.00"' in told["call_2"]
    assert (bank.paid, bank.looked, world.questions()) == (["1200.00"], 1, 1)
    assert world.effects() == [("pay", "confirmed", "PAY-1")]


def test_several_calls_have_an_answer_each(people: FakeApprover, bank: Bank) -> None:
    people.approve("pay")
    more = {**PAYMENT, "amount": "2.00"}
    both = [call("call_1", "pay", **PAYMENT), call("call_2", "pay", **more)]
    agent = bank.agent(both, says("Paid."))
    asyncio.run(agreed(people, agent))
    assert sorted(bank.paid) == ["1240.00", "2.00"]
    assert [one.outcome for one in people.outcomes] == ["confirmed", "confirmed"]


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
        (
            lambda people: people.request_changes("pay", reason="Which invoice?"),
            "Not done. Ask again, differently: Which invoice?",
        ),
    ],
    ids=["rejected", "answered", "changes"],
)
def test_the_model_is_told_what_people_said(
    people: FakeApprover, bank: Bank, say: Callable[[FakeApprover], None], told: str
) -> None:
    say(people)
    agent = bank.agent([call("call_1", "pay", **PAYMENT)], says("I see."))
    asyncio.run(agreed(people, agent))
    assert outputs(agent) == {"call_1": told}
    assert bank.paid == []


def test_resumed_twice_it_pays_once(people: FakeApprover, bank: Bank) -> None:
    asking = bank.agent([call("call_1", "pay", **PAYMENT)])
    with pytest.raises(keyturn.Paused):
        asyncio.run(agreed(people, asking, timeout=0))
    people.approve("pay")
    for _ in range(2):
        going_on = bank.agent(says("Paid."))
        asyncio.run(agreed(people, going_on))
    assert outputs(going_on) == {
        "call_1": "Done as PAY-1; what it returned was not kept."
    }
    assert bank.paid == ["1240.00"]


def test_a_state_that_says_approved_lets_nothing_happen(
    people: FakeApprover, bank: Bank
) -> None:
    """As `always_approve` would, or a snapshot that somebody edited."""
    asking = bank.agent([call("call_1", "pay", **PAYMENT)])
    people.reject("pay")

    async def work() -> None:
        async with opened(people) as run:
            with pytest.MonkeyPatch.context() as lying:
                lying.setattr(
                    "keyturn.openai_agents._answer",
                    lambda state, item, found: state.approve(item),
                )
                asking.model.answers = iter(  # type: ignore[union-attr]
                    [[call("call_1", "pay", **PAYMENT)], says("So be it.")]
                )
                await run_agent(run, asking, "Pay.")

    asyncio.run(work())
    assert "rejected" in outputs(asking)["call_1"]
    assert bank.paid == []


def test_an_edited_snapshot_is_refused(people: FakeApprover, bank: Bank) -> None:
    asking = bank.agent([call("call_1", "pay", **PAYMENT)])
    with pytest.raises(keyturn.Paused):
        asyncio.run(agreed(people, asking, timeout=0))
    people.approve("pay")
    (saved,) = people._server.checkpoints.values()
    saved[-1]["payload"] = saved[-1]["payload"].replace("1240.00", "999999.00")
    with pytest.raises(keyturn.KeyReused):
        asyncio.run(agreed(people, bank.agent(says("Paid."))))
    assert bank.paid == []


def test_another_version_of_the_agent_does_not_go_on(
    people: FakeApprover, bank: Bank
) -> None:
    asking = bank.agent([call("call_1", "pay", **PAYMENT)])
    with pytest.raises(keyturn.Paused):
        asyncio.run(agreed(people, asking, timeout=0, agent_version="1"))
    with pytest.raises(NotResumable):
        asyncio.run(agreed(people, bank.agent(), agent_version="2"))


def test_another_agent_does_not_go_on(people: FakeApprover, bank: Bank) -> None:
    asking = bank.agent([call("call_1", "pay", **PAYMENT)])
    with pytest.raises(keyturn.Paused):
        asyncio.run(agreed(people, asking, timeout=0))
    people.approve("pay")
    renamed = bank.agent(says("Paid."))
    renamed.name = "Somebody else"
    with pytest.raises(UserError, match="agent"):
        asyncio.run(agreed(people, renamed))
    assert bank.paid == []


def test_an_agent_that_is_another_ones_tool_pauses_both(
    people: FakeApprover, bank: Bank
) -> None:
    def chief(*answers: Any, clerk: Agent[Any]) -> Agent[Any]:
        tool = clerk.as_tool(tool_name="delegate", tool_description="Let the clerk do.")
        return Agent(name="Chief", model=Scripted(*answers), tools=[tool])

    delegating = [call("call_0", "delegate", input="Pay.")]
    asking = bank.agent([call("call_1", "pay", **PAYMENT)])
    with pytest.raises(keyturn.Paused):
        asyncio.run(agreed(people, chief(delegating, clerk=asking), timeout=0))
    people.approve("pay")
    going_on = bank.agent(says("Paid by the clerk."))
    result = asyncio.run(agreed(people, chief(says("Paid."), clerk=going_on)))
    assert result.final_output == "Paid."
    assert outputs(going_on) == {"call_1": "PAY-1"}
    assert bank.paid == ["1240.00"]


def test_a_tool_that_would_act_by_itself_is_refused(people: FakeApprover) -> None:
    @function_tool(needs_approval=True)
    def fly() -> str:
        raise AssertionError

    agent = Agent(name="Pilot", model=Scripted([call("call_1", "fly")]), tools=[fly])
    with pytest.raises(NotResumable):
        asyncio.run(agreed(people, agent))
    assert people.asked == []


def test_arguments_that_cannot_be_meant_ask_nobody(
    people: FakeApprover, bank: Bank
) -> None:
    agent = bank.agent([call("call_1", "pay", payee="Halden")], says("I see."))
    asyncio.run(agreed(people, agent))
    assert "cannot be used" in outputs(agent)["call_1"]
    assert people.asked == []


def test_what_the_tool_raises_is_raised(people: FakeApprover) -> None:
    @approved_tool(name="pay")
    def pay(payee: str, amount: str) -> str:
        raise ConnectionResetError("nobody knows")

    people.approve("pay")
    answer = [call("call_1", "pay", **PAYMENT)]
    agent = Agent(name="Clerk", model=Scripted(answer), tools=[pay])
    with pytest.raises(Exception, match="nobody knows"):
        asyncio.run(agreed(people, agent))
    assert [one.outcome for one in people.outcomes] == ["unknown"]


def test_the_context_survives_the_pause(people: FakeApprover, bank: Bank) -> None:
    asking = bank.agent([call("call_1", "pay", **PAYMENT)])
    with pytest.raises(keyturn.Paused):
        asyncio.run(agreed(people, asking, timeout=0, context={"customer": 7}))
    people.approve("pay")
    result = asyncio.run(agreed(people, bank.agent(says("Paid."))))
    assert result.context_wrapper.context == {"customer": 7}


def test_a_run_that_pauses_keeps_each_call_with_its_output(
    real: Real, bank: Bank
) -> None:
    async def talk(*answers: Any) -> list[Any]:
        async with real.async_client() as client:
            session = KeyturnSession(client, "chat", subject="customer-7")
            async with client.run("TASK-1", subject="customer-7") as run:
                agent = bank.agent(*answers)
                try:
                    await run_agent(run, agent, "Pay.", session=session, timeout=0)
                except keyturn.Paused as paused:
                    real.answer("approve")
                    await client.wait(paused.approval.id)
            return await session.get_items()

    asyncio.run(talk([call("call_1", "pay", **PAYMENT)]))
    items: list[Any] = asyncio.run(talk(says("Paid.")))
    kinds = [one.get("type", one.get("role")) for one in items]
    assert kinds == ["user", "function_call", "function_call_output", "message"]
    assert items[2]["output"] == "PAY-1"
