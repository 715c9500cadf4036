"""Two providers' loops: what the model is told, and that each call happens once."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import keyturn
from keyturn import Client, NothingDone, Run
from keyturn.loops import anthropic_messages, openai_responses
from keyturn.testing import FakeApprover
from keyturn.tool_calls import Tool
from tests.sdk.worlds import World

PAYMENT = {"payee": "Halden Paper", "amount": "1240.00"}
START = [{"role": "user", "content": "Pay."}]


class Scripted:
    """A model that says one answer after the other, and remembers what it was given."""

    def __init__(self, *answers: Any) -> None:
        self.answers = iter(answers)
        self.given: list[list[dict[str, Any]]] = []

    def __call__(self, messages: list[dict[str, Any]]) -> Any:
        self.given.append(messages)
        return next(self.answers)


def uses(*calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    blocks = [
        {"type": "tool_use", "id": id, "name": name, "input": arguments}
        for id, name, arguments in calls
    ]
    return {"role": "assistant", "content": blocks, "stop_reason": "tool_use"}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def calls(id: str, name: str, arguments: str) -> dict[str, Any]:
    function = {"call_id": id, "name": name, "arguments": arguments}
    reasoning = {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}
    return {"output": [reasoning, {"type": "function_call", "id": "fc_1", **function}]}


def replies(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"output": [{"type": "message", "role": "assistant", "content": content}]}


class Bank:
    def __init__(self) -> None:
        self.paid: list[dict[str, Any]] = []
        self.looked = 0
        self.flaw: BaseException | None = None

    def pay(self, payee: str, amount: str) -> str:
        if self.flaw is not None:
            raise self.flaw
        self.paid.append({"payee": payee, "amount": amount})
        return f"PAY-{len(self.paid)}"

    def look(self) -> dict[str, int]:
        self.looked += 1
        return {"balance": 5}

    @property
    def tools(self) -> list[Tool]:
        return [
            Tool(
                name="pay",
                function=self.pay,
                nothing_done=(ConnectionRefusedError,),
                external_id=str,
                explanation=lambda payee, amount: f"{payee} is owed {amount}",
            ),
            Tool(name="look", function=self.look, needs_approval=False),
        ]


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture
def people() -> Iterator[FakeApprover]:
    with FakeApprover() as people:
        yield people


def opened(client: Client) -> Run:
    return client.run("TASK-1", subject="customer-7")


def talk(run: Run, model: Any, bank: Bank, **more: Any) -> list[dict[str, Any]]:
    return run.drive(anthropic_messages(run, model, bank.tools, START, **more))


def told(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results of the only turn with tools."""
    (results,) = (one["content"] for one in messages[1:] if one["role"] == "user")
    return list(results)


def test_it_pauses_in_one_process_and_goes_on_in_another(
    world: World, bank: Bank
) -> None:
    asking = Scripted(uses(("toolu_1", "look", {}), ("toolu_2", "pay", PAYMENT)))
    with world.client() as client, opened(client) as run:
        with pytest.raises(keyturn.Paused) as caught:
            talk(run, asking, bank, timeout=0)
        assert (bank.paid, bank.looked) == ([], 1)
        asked = caught.value.approval
        assert asked.explanation == "Halden Paper is owed 1240.00"
    world.answer("edit", arguments={"amount": "1200.00"})
    with world.client() as client:
        client.wait(asked.id)
        ending = Scripted(says("Paid."))
        with opened(client) as run:
            messages = talk(run, ending, bank, timeout=60)
            again = talk(run, Scripted(), bank)
            run.complete()
    assert again == messages
    looked, paid = told(messages)
    assert (looked["tool_use_id"], looked["content"]) == ("toolu_1", '{"balance": 5}')
    assert paid["content"].endswith("Result: PAY-1")
    assert '"amount":"1200.00"' in paid["content"]
    assert bank.paid == [{**PAYMENT, "amount": "1200.00"}]
    assert (bank.looked, world.questions()) == (1, 1)
    assert world.effects() == [("pay", "confirmed", "PAY-1")]


def test_the_other_provider_is_told_in_its_own_shape(world: World, bank: Bank) -> None:
    model = Scripted(calls("call_1", "pay", json.dumps(PAYMENT)), replies("Paid."))
    world.answer("approve")
    with world.client() as client, opened(client) as run:
        items = run.drive(openai_responses(run, model, bank.tools, START))
        run.complete()
    assert [one.get("type") for one in items] == [
        None,
        "reasoning",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert items[3]["call_id"] == "call_1"
    assert items[3]["output"] == "PAY-1"
    assert model.given[1] == items[:4]


def test_it_runs_on_an_event_loop(people: FakeApprover, bank: Bank) -> None:
    model = Scripted(uses(("toolu_1", "pay", PAYMENT)), says("Paid."))

    async def answer(messages: list[dict[str, Any]]) -> Any:
        return model(messages)

    async def work() -> list[dict[str, Any]]:
        async with (
            people.async_client() as client,
            client.run("TASK-1", subject="customer-7") as run,
        ):
            loop = anthropic_messages(run, answer, bank.tools, START)
            return await run.drive(loop)

    people.approve("pay")
    assert told(asyncio.run(work()))[0]["content"] == "PAY-1"


@pytest.mark.parametrize(
    ("say", "text", "is_error"),
    [
        (
            lambda people: people.reject("pay", reason="Not them"),
            "Not done, rejected by the reviewers: Not them",
            True,
        ),
        (
            lambda people: people.respond("pay", response="Paid by hand."),
            "A reviewer answers: Paid by hand.",
            False,
        ),
    ],
    ids=["rejected", "answered"],
)
def test_the_model_is_told_what_people_said(
    people: FakeApprover,
    bank: Bank,
    say: Callable[[FakeApprover], None],
    text: str,
    is_error: bool,
) -> None:
    say(people)
    model = Scripted(uses(("toolu_1", "pay", PAYMENT)), says("I see."))
    with people.client() as client, opened(client) as run:
        (result,) = told(talk(run, model, bank))
    assert (result["content"], result["is_error"]) == (text, is_error)
    assert bank.paid == []


def test_a_question_to_be_asked_differently_is_taken_back(
    people: FakeApprover, bank: Bank
) -> None:
    people.request_changes("pay", reason="Name the invoice")
    asking = uses(("toolu_1", "pay", PAYMENT))

    def model(messages: list[dict[str, Any]]) -> Any:
        if len(messages) == 1:
            return asking
        if len(messages) == 3:
            people.approve("pay")
            return uses(("toolu_2", "pay", {**PAYMENT, "payee": "Halden, 1042"}))
        return says("Paid.")

    with people.client() as client, opened(client) as run:
        messages = talk(run, model, bank)
    told = messages[2]["content"][0]
    asked = "Not done. Ask again, differently: Name the invoice"
    assert (told["content"], told["is_error"]) == (asked, True)
    assert messages[4]["content"][0]["content"] == "PAY-1"
    assert bank.paid == [{**PAYMENT, "payee": "Halden, 1042"}]


def test_nothing_happens_before_all_have_their_answer(
    people: FakeApprover, bank: Bank
) -> None:
    both = uses(("toolu_1", "pay", PAYMENT), ("toolu_2", "hire", {"name": "Eve"}))
    tools = [*bank.tools, Tool(name="hire", function=lambda name: name)]
    people.approve("pay")
    with people.client() as client, opened(client) as run:
        with pytest.raises(keyturn.Paused) as caught:
            run.drive(anthropic_messages(run, Scripted(both), tools, START, timeout=0))
        assert caught.value.approval.tool == "hire"
        assert bank.paid == []
        people.reject("hire", reason="Not now")
        ending = Scripted(says("Done."))
        messages = run.drive(anthropic_messages(run, ending, tools, START))
    assert [one["is_error"] for one in told(messages)] == [False, True]


def test_a_crash_after_the_effect_does_not_repeat_it(
    people: FakeApprover, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.approve("pay")
    with people.client() as client:
        with opened(client) as run:
            model = Scripted(uses(("toolu_1", "pay", PAYMENT)))
            with monkeypatch.context() as broken:
                broken.setattr("keyturn.tool_calls._with_edit", lambda *_: 1 / 0)
                with pytest.raises(ZeroDivisionError):
                    talk(run, model, bank)
        with opened(client) as run:
            (result,) = told(talk(run, Scripted(says("Done.")), bank))
    assert result["content"] == "Done as PAY-1; what it returned was not kept."
    assert len(bank.paid) == 1


def test_a_crash_in_the_effect_is_not_repeated_either(
    people: FakeApprover, bank: Bank
) -> None:
    people.approve("pay")
    bank.flaw = KeyboardInterrupt()
    with people.client() as client:
        with opened(client) as run, pytest.raises(KeyboardInterrupt):
            talk(run, Scripted(uses(("toolu_1", "pay", PAYMENT))), bank)
        bank.flaw = None
        with opened(client) as run, pytest.raises(keyturn.KeyturnError):
            talk(run, Scripted(), bank, timeout=0)
    assert bank.paid == []


@pytest.mark.parametrize("flaw", [NothingDone("no route"), ConnectionRefusedError("x")])
def test_the_model_may_try_otherwise_when_nothing_was_done(
    people: FakeApprover, bank: Bank, flaw: Exception
) -> None:
    people.approve("pay")
    bank.flaw = flaw
    model = Scripted(uses(("toolu_1", "pay", PAYMENT)), says("I see."))
    with people.client() as client, opened(client) as run:
        (result,) = told(talk(run, model, bank))
    assert (result["content"], result["is_error"]) == (f"Not done: {flaw}", True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("pay", {"payee": "Halden"}),
        ("pay", {**PAYMENT, "argumnet": 1}),
        ("pay", '{"payee": '),
        ("pay", "[1]"),
        ("fly", {}),
    ],
    ids=repr,
)
def test_what_cannot_be_meant_asks_nobody(
    people: FakeApprover, bank: Bank, name: str, arguments: Any
) -> None:
    model = Scripted(uses(("toolu_1", name, arguments)), says("I see."))
    with people.client() as client, opened(client) as run:
        (result,) = told(talk(run, model, bank))
    assert result["is_error"]
    assert people.asked == []


def test_a_number_that_would_change_on_its_way_asks_nobody(
    people: FakeApprover, bank: Bank
) -> None:
    asking = calls("call_1", "pay", json.dumps({**PAYMENT, "amount": 2**60}))
    model = Scripted(asking, replies("I see."))
    with people.client() as client, opened(client) as run:
        items = run.drive(openai_responses(run, model, bank.tools, START))
    assert "too large a number" in items[3]["output"]
    assert people.asked == []


def test_a_run_of_something_else_is_left_alone(
    people: FakeApprover, bank: Bank
) -> None:
    with people.client() as client, opened(client) as run:
        run.checkpoint({"step": "read"})
        with pytest.raises(keyturn.Unintelligible):
            talk(run, Scripted(), bank)
