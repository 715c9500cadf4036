"""Interrupts in both of LangChain's shapes, answered by people; acting once."""

import asyncio
import operator
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Interrupt

import keyturn
from keyturn import Client, InDoubt
from keyturn.approved import NotAsked, as_approved
from keyturn.interrupts import NotUnderstood, resume
from keyturn.testing import FakeApprover
from tests.sdk.worlds import World

PAYMENT = {"payee": "Halden Paper", "amount": "1240.00"}
EVERYTHING = ["approve", "edit", "reject", "respond"]


@pytest.fixture
def people() -> Iterator[FakeApprover]:
    with FakeApprover() as people:
        yield people


def opened(client: Client) -> keyturn.Run:
    return client.run("TASK-1", subject="customer-7")


def middleware(*names: str, id: str = "i1", **arguments: Any) -> Interrupt[Any]:
    given = arguments or PAYMENT
    requests = [{"name": name, "args": given, "description": "Why"} for name in names]
    configs = [
        {"action_name": name, "allowed_decisions": EVERYTHING} for name in set(names)
    ]
    return Interrupt(
        value={"action_requests": requests, "review_configs": configs}, id=id
    )


def human(name: str, **allowed: bool) -> dict[str, Any]:
    config = dict.fromkeys(
        ("allow_accept", "allow_edit", "allow_respond", "allow_ignore"), True
    )
    return {
        "action_request": {"action": name, "args": PAYMENT},
        "config": {**config, **allowed},
        "description": None,
    }


def answered(people: FakeApprover, *interrupts: Interrupt[Any], **more: Any) -> Any:
    with people.client() as client, opened(client) as run:
        return run.drive(resume(run, interrupts, **more)).resume


def test_each_action_has_its_own_answer(people: FakeApprover) -> None:
    people.approve("pay")
    people.edit("mail", amount="1.00")
    people.reject("hire", reason="Not now")
    people.respond("look", response="It is blue.")
    answer = answered(people, middleware("pay", "mail", "hire", "look"))
    edited = {"name": "mail", "args": {**PAYMENT, "amount": "1.00"}}
    assert answer["i1"]["decisions"] == [
        {"type": "approve"},
        {"type": "edit", "edited_action": edited},
        {"type": "reject", "message": "Not now"},
        {"type": "respond", "message": "It is blue."},
    ]
    assert people.asked[0].explanation == "Why"


def test_the_older_shape_is_answered_in_its_own(people: FakeApprover) -> None:
    people.approve("pay")
    people.edit("mail", amount="1.00")
    people.reject("hire", reason="Not now")
    several = [human("pay"), human("mail"), human("hire")]
    one = human("hire", allow_respond=False)
    answer = answered(
        people, Interrupt(value=several, id="a"), Interrupt(value=one, id="b")
    )
    edited = {"action": "mail", "args": {**PAYMENT, "amount": "1.00"}}
    assert answer["a"] == [
        {"type": "accept", "args": None},
        {"type": "edit", "args": edited},
        {"type": "response", "args": "Not now"},
    ]
    assert answer["b"] == {"type": "ignore", "args": None}


def test_a_question_to_be_asked_differently_is_a_rejection(
    people: FakeApprover,
) -> None:
    people.request_changes("pay", reason="Name the invoice")
    (decision,) = answered(people, middleware("pay"))["i1"]["decisions"]
    message = "Ask again, differently: Name the invoice"
    assert decision == {"type": "reject", "message": message}


def test_it_is_asked_once_and_answered_alike(world: World) -> None:
    world.answer("approve")
    found = []
    for _ in range(2):
        with world.client() as client, opened(client) as run:
            found.append(run.drive(resume(run, [middleware("pay")])).resume)
    assert found[0] == found[1] == {"i1": {"decisions": [{"type": "approve"}]}}
    assert world.questions() == 1


def test_no_answer_resumes_nothing(people: FakeApprover) -> None:
    people.approve("pay")
    with pytest.raises(keyturn.Paused) as caught:
        answered(people, middleware("pay", "hire"), timeout=0)
    assert caught.value.approval.tool == "hire"


def test_two_interrupts_of_one_node_are_two_questions(people: FakeApprover) -> None:
    people.reject("pay")
    answered(people, middleware("pay"))
    answered(people, middleware("pay", amount="2.00"))
    assert len(people.asked) == 2


@pytest.mark.parametrize(
    "value",
    [
        *("Really?", None, [], {}, {"action_requests": [{}]}, [{"action_request": {}}]),
        {"type": "tool_approval", "name": "pay"},
    ],
    ids=repr,
)
def test_other_interrupts_ask_nobody(people: FakeApprover, value: Any) -> None:
    with pytest.raises(NotUnderstood):
        answered(people, Interrupt(value=value, id="i1"))
    assert people.asked == []


# -- Acting on what was approved --------------------------------------------------------


class Bank:
    def __init__(self) -> None:
        self.paid: list[str] = []

    @property
    def pay(self) -> Any:
        @as_approved(tool="pay", external_id=str)
        def pay(payee: str, amount: str = "1240.00") -> str:
            self.paid.append(amount)
            return f"PAY-{len(self.paid)}"

        return pay


def test_it_acts_once_however_often_the_graph_is_resumed(world: World) -> None:
    world.answer("edit", arguments={"amount": "1200.00"})
    bank = Bank()
    with world.client() as client, opened(client) as run:
        run.drive(resume(run, [middleware("pay")]))
        with pytest.raises(NotAsked):
            bank.pay("Halden Paper")
        assert bank.pay("Halden Paper", amount="1200.00") == "PAY-1"
    with world.client() as client, opened(client) as run:
        with pytest.raises(keyturn.DoneAlready):
            bank.pay("Halden Paper", amount="1200.00")
        run.complete()
    assert bank.paid == ["1200.00"]
    assert world.effects() == [("pay", "confirmed", "PAY-1")]


def test_two_approvals_of_the_same_call_allow_two(people: FakeApprover) -> None:
    people.approve("pay")
    bank = Bank()
    with people.client() as client, opened(client) as run:
        run.drive(resume(run, [middleware("pay", "pay")]))
        bank.pay(**PAYMENT)
        bank.pay(**PAYMENT)
        with pytest.raises(keyturn.DoneAlready):
            bank.pay(**PAYMENT)
    assert len(bank.paid) == 2


@pytest.mark.parametrize(
    ("verdict", "error"),
    [("reject", keyturn.Rejected), ("leave", keyturn.Paused)],
)
def test_what_the_graph_believes_allows_nothing(
    people: FakeApprover, verdict: str, error: type[Exception]
) -> None:
    getattr(people, verdict)("pay")
    bank = Bank()
    with people.client() as client, opened(client) as run:
        asked = [keyturn.Ask(tool="pay", arguments=PAYMENT)]
        (found,) = run.pause(asked)
        client.wait(found.id, timeout=0)
        with pytest.raises(error):
            bank.pay(**PAYMENT)
    assert bank.paid == []


def test_an_effect_that_was_begun_is_not_begun_again(people: FakeApprover) -> None:
    people.approve("pay")
    with people.client() as client, opened(client) as run:
        (found,) = run.pause([keyturn.Ask(tool="pay", arguments=PAYMENT)])
        client.wait(found.id)
        client.redeem_approval(found.id, fence=run.fence)
        with pytest.raises(InDoubt):
            Bank().pay(**PAYMENT)


def test_it_acts_on_an_event_loop_and_only_in_its_run(people: FakeApprover) -> None:
    people.approve("pay")

    @as_approved(tool="pay")
    async def pay(payee: str, amount: str) -> str:
        return amount

    async def work() -> str:
        with pytest.raises(TypeError):
            await pay(**PAYMENT)
        async with (
            people.async_client() as client,
            client.run("TASK-1", subject="customer-7") as run,
        ):
            await run.drive(resume(run, [middleware("pay")]))
            return await pay(**PAYMENT)

    assert asyncio.run(work()) == "1240.00"


def test_nodes_that_act_at_once_take_turns(people: FakeApprover) -> None:
    people.approve()

    class State(TypedDict):
        told: Annotated[list[str], operator.add]

    def acts(name: str) -> Any:
        act = as_approved(tool=name)(lambda amount: f"{name} {amount}")
        return lambda state: {"told": [act(amount="1.00")]}

    graph = StateGraph(State)
    for name in ("pay", "mail", "hire"):
        graph.add_node(name, acts(name))
        graph.add_edge(START, name)
    with people.client() as client, opened(client) as run:
        run.drive(resume(run, [middleware("pay", "mail", "hire", amount="1.00")]))
        found = graph.compile().invoke({"told": []})
    assert sorted(found["told"]) == ["hire 1.00", "mail 1.00", "pay 1.00"]
    assert [one.outcome for one in people.outcomes] == ["confirmed"] * 3
