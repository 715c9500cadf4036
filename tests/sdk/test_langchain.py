"""LangChain's agents with a model that says what it is told to say."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import PrivateAttr

import keyturn
from keyturn import interrupts
from keyturn.approved import as_approved
from keyturn.langchain import Gated, KeyturnMiddleware, ToolFailed, ainvoke, invoke
from keyturn.langgraph import KeyturnSaver
from keyturn.testing import FakeApprover
from tests.sdk.worlds import Real, World

PAYMENT = {"payee": "Halden Paper", "amount": "1240.00"}
CONFIG: Any = {"configurable": {"thread_id": "t"}}
START = {"messages": [{"role": "user", "content": "Pay."}]}


class Scripted(BaseChatModel):
    """Says one answer after the other."""

    _answers: Iterator[Any] = PrivateAttr()

    @classmethod
    def of(cls, *answers: Any) -> "Scripted":
        made = cls()
        made._answers = iter(answers)
        return made

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        said = next(self._answers)
        message = (
            AIMessage(said) if isinstance(said, str) else AIMessage("", tool_calls=said)
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "args": arguments}


class Bank:
    def __init__(self) -> None:
        self.paid: list[str] = []
        self.looked = 0
        self.flaw: BaseException | None = None
        self.saver: Any = InMemorySaver()

    def agent(self, *answers: Any, **more: Any) -> Any:
        @tool
        def pay(payee: str, amount: str) -> str:
            """Pay somebody."""
            if self.flaw is not None:
                raise self.flaw
            self.paid.append(amount)
            return f"PAY-{len(self.paid)}"

        @tool
        def look() -> str:
            """Look."""
            self.looked += 1
            return "5"

        gated = {"pay": Gated(external_id=str, nothing_done=(ConnectionRefusedError,))}
        return create_agent(
            Scripted.of(*answers),
            [pay, look],
            middleware=[KeyturnMiddleware(gated, **more)],
            checkpointer=self.saver,
        )


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture
def people() -> Iterator[FakeApprover]:
    with FakeApprover() as people:
        yield people


def agreed(world: World | FakeApprover, bank: Bank, *answers: Any, **more: Any) -> Any:
    with world.client() as client, client.run("TASK-1", subject="customer-7"):
        return invoke(bank.agent(*answers, **more), START, CONFIG)["messages"]


def told(messages: list[Any]) -> dict[str, tuple[str, str]]:
    """What the model was told of each call."""
    return {
        one.tool_call_id: (one.status, str(one.content))
        for one in messages
        if isinstance(one, ToolMessage)
    }


def test_it_pauses_in_one_process_and_goes_on_in_another(
    world: World, bank: Bank
) -> None:
    asking = [call("call_1", "look"), call("call_2", "pay", **PAYMENT)]
    with pytest.raises(keyturn.Paused) as caught:
        agreed(world, bank, asking, timeout=0)
    assert (bank.paid, bank.looked) == ([], 0)
    world.answer("edit", arguments={"amount": "1200.00"})
    with world.client() as client:
        client.wait(caught.value.approval.id)
    messages = agreed(world, bank, "Paid.", timeout=30)
    assert messages[-1].content == "Paid."
    assert told(messages)["call_1"] == ("success", "5")
    assert '"amount":"1200.00"' in told(messages)["call_2"][1]
    assert told(messages)["call_2"][1].endswith("Result: PAY-1")
    assert (bank.paid, bank.looked, world.questions()) == (["1200.00"], 1, 1)
    assert world.effects() == [("pay", "confirmed", "PAY-1")]


def test_the_thread_is_kept_where_the_run_is(real: Real, bank: Bank) -> None:
    with real.client() as client:
        bank.saver = KeyturnSaver(client, subject="customer-7")
        with pytest.raises(keyturn.Paused):
            agreed(real, bank, [call("call_1", "pay", **PAYMENT)], timeout=0)
        real.decide(real.pending(), "approve")
        messages = agreed(real, bank, "Paid.", timeout=30)
    assert told(messages) == {"call_1": ("success", "PAY-1")}


@pytest.mark.parametrize(
    ("say", "heard"),
    [
        (
            lambda people: people.reject("pay", reason="Not them"),
            ("error", "Not done, rejected by the reviewers: Not them"),
        ),
        (
            lambda people: people.respond("pay", response="By hand."),
            ("success", "A reviewer answers: By hand."),
        ),
        (
            lambda people: people.request_changes("pay", reason="Which invoice?"),
            ("error", "Not done. Ask again, differently: Which invoice?"),
        ),
    ],
    ids=["rejected", "answered", "changes"],
)
def test_the_model_is_told_what_people_said(
    people: FakeApprover,
    bank: Bank,
    say: Callable[[FakeApprover], None],
    heard: tuple[str, str],
) -> None:
    say(people)
    messages = agreed(people, bank, [call("call_1", "pay", **PAYMENT)], "I see.")
    assert told(messages) == {"call_1": heard}
    assert bank.paid == []


def test_a_rejection_is_final_however_often_it_is_resumed(
    people: FakeApprover, bank: Bank
) -> None:
    with pytest.raises(keyturn.Paused):
        agreed(people, bank, [call("call_1", "pay", **PAYMENT)], timeout=0)
    before = bank.saver
    people.reject("pay", reason="No")
    for _ in range(2):
        messages = agreed(people, bank, "I see.")
        assert told(messages)["call_1"][0] == "error"
        people.approve("pay")
        bank.saver = before
    assert (bank.paid, len(people.asked)) == ([], 1)


def test_resumed_twice_it_pays_once(people: FakeApprover, bank: Bank) -> None:
    """From the same checkpoint: the second knows nothing of the first."""
    asking = [call("call_1", "pay", **PAYMENT)]
    people.approve("pay")
    first = agreed(people, bank, asking, "Paid.")
    bank.saver = InMemorySaver()
    again = agreed(people, bank, asking, "Paid.")
    assert told(first) == {"call_1": ("success", "PAY-1")}
    assert told(again) == {
        "call_1": ("success", "Done as PAY-1; what it returned was not kept.")
    }
    assert bank.paid == ["1240.00"]


def test_a_crash_after_the_effect_does_not_repeat_it(
    people: FakeApprover, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.approve("pay")
    with monkeypatch.context() as broken:
        broken.setattr("keyturn.langchain._told", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            agreed(people, bank, [call("call_1", "pay", **PAYMENT)])
    messages = agreed(people, bank, "Done.")
    assert told(messages)["call_1"][1].startswith("Done as PAY-1")
    assert bank.paid == ["1240.00"]


def test_what_the_tool_raises_is_raised(people: FakeApprover, bank: Bank) -> None:
    people.approve("pay")
    bank.flaw = ConnectionResetError("nobody knows")
    with pytest.raises(ConnectionResetError):
        agreed(people, bank, [call("call_1", "pay", **PAYMENT)])
    assert [one.outcome for one in people.outcomes] == ["unknown"]


def test_the_model_may_try_otherwise_when_nothing_was_done(
    people: FakeApprover, bank: Bank
) -> None:
    people.approve("pay")
    bank.flaw = ConnectionRefusedError("no route")
    messages = agreed(people, bank, [call("call_1", "pay", **PAYMENT)], "I see.")
    assert told(messages) == {"call_1": ("error", "Not done: no route")}
    assert [one.outcome for one in people.outcomes] == ["failed"]


def test_an_error_that_the_framework_made_a_message_of_is_no_success(
    people: FakeApprover, bank: Bank
) -> None:
    people.approve("pay")
    with pytest.raises(ToolFailed):
        agreed(people, bank, [call("call_1", "pay", payee="Halden Paper")])
    assert [one.outcome for one in people.outcomes] == ["unknown"]


def test_a_number_that_would_change_on_its_way_asks_nobody(
    people: FakeApprover, bank: Bank
) -> None:
    given = {**PAYMENT, "amount": 2**60}
    messages = agreed(people, bank, [call("call_1", "pay", **given)], "I see.")
    assert told(messages)["call_1"][0] == "error"
    assert (people.asked, bank.paid) == ([], [])


def test_it_runs_on_an_event_loop(people: FakeApprover, bank: Bank) -> None:
    people.approve("pay")
    asking = [call("call_1", "pay", **PAYMENT), call("call_2", "look")]

    async def work() -> Any:
        async with (
            people.async_client() as client,
            client.run("TASK-1", subject="customer-7"),
        ):
            agent = bank.agent(asking, "Paid.")
            return await ainvoke(agent, START, CONFIG)

    heard = told(asyncio.run(work())["messages"])
    assert heard == {"call_1": ("success", "PAY-1"), "call_2": ("success", "5")}


def test_langchains_own_middleware_may_ask_about_each_call_alone(
    people: FakeApprover, bank: Bank
) -> None:
    @tool
    @as_approved(tool="pay", external_id=str)
    def pay(payee: str, amount: str) -> str:
        """Pay somebody."""
        bank.paid.append(amount)
        return "PAY-1"

    @tool
    def hire(whom: str) -> None:
        """Hire somebody."""

    agent = create_agent(
        Scripted.of(
            [call("1", "pay", **PAYMENT), call("2", "hire", whom="Eve")], "Paid."
        ),
        [pay, hire],
        middleware=[
            HumanInTheLoopMiddleware(
                {"pay": True, "hire": {"allowed_decisions": ["reject"]}},
                interrupt_mode="per_call",
            )
        ],
        checkpointer=bank.saver,
    )
    people.edit("pay", amount="1200.00")
    people.reject("hire", reason="Not now")
    with people.client() as client, client.run("TASK-1", subject="customer-7") as run:
        asked = agent.invoke(START, CONFIG)["__interrupt__"]
        command = run.drive(interrupts.resume(run, asked))
        heard = told(agent.invoke(command, CONFIG)["messages"])
    asks = [ask for one in asked for ask in interrupts._read(one).asks]
    allowed = {ask.tool: set(ask.allowed_decisions or ()) for ask in asks}
    assert allowed == {
        "pay": {"approve", "edit", "reject", "respond"},
        "hire": {"reject"},
    }
    assert bank.paid == ["1200.00"]
    assert heard["1"][1].endswith("PAY-1")
    assert heard["2"] == (
        "error",
        "User rejected the tool call for `hire` with reason: Not now",
    )


def test_it_is_called_in_a_run_of_its_kind(bank: Bank) -> None:
    with pytest.raises(TypeError):
        invoke(bank.agent([call("call_1", "pay", **PAYMENT)]), START, CONFIG)
    assert bank.paid == []
