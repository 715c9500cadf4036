"""Within a run a key names one question of one tool, and is never taken for another's."""

from typing import Any

import pytest

import keyturn
from keyturn import Action, Ask, exact, require_approval
from tests.sdk.worlds import World

PAYMENT = {"payee": "Halden Paper", "amount": "1240.00"}


def gated(tool: str, done: list[str], **options: Any) -> Any:
    @require_approval(tool=tool, **options)
    def act(**arguments: str) -> None:
        done.append(f"{tool} {arguments['amount']}")

    return act


def test_the_same_key_of_another_tool_is_another_question(world: World) -> None:
    done: list[str] = []
    with world.client() as client, client.run("TASK-1", subject="customer-7"):
        world.answer("approve")
        gated("send_payment", done, key="INV-1042")(**PAYMENT)
        world.answer("reject", reason="Keep it")
        with pytest.raises(keyturn.Rejected):
            gated("delete_invoice", done, key="INV-1042")(**PAYMENT)
    assert done == ["send_payment 1240.00"]


@pytest.mark.parametrize("key", ["INV-1042", "a long one " * 30])
def test_the_same_key_with_other_arguments_is_refused(world: World, key: str) -> None:
    done: list[str] = []
    with world.client() as client, client.run("TASK-1", subject="customer-7"):
        pay = gated("send_payment", done, key=key)
        world.answer("edit", arguments={"amount": "10.00"})
        pay(**PAYMENT)
        with pytest.raises(keyturn.KeyReused):
            pay(**{**PAYMENT, "amount": "900.00"})
        with pytest.raises(keyturn.DoneAlready):
            pay(**PAYMENT)
    assert (done, world.questions()) == (["send_payment 10.00"], 1)


@pytest.mark.parametrize(
    "other",
    [
        {"tool": "delete_invoice"},
        {"arguments": {**PAYMENT, "amount": "900.00"}},
        {"target": "INV-7"},
    ],
    ids=str,
)
def test_a_call_of_the_models_names_one_question(
    world: World, other: dict[str, Any]
) -> None:
    first: dict[str, Any] = {"tool": "send_payment", "arguments": PAYMENT}
    with world.client() as client, client.run("TASK-1", subject="customer-7") as run:
        run.pause([Ask(**first, tool_call_id="call_1")])
        with pytest.raises(keyturn.KeyReused, match="call_1"):
            run.pause([Ask(**{**first, **other}, tool_call_id="call_1")])
        run.pause([Ask(**first, tool_call_id="call_1")])
    assert world.questions() == 1


def test_an_effect_of_another_tool_is_not_carried_out(world: World) -> None:
    done: list[Any] = []
    action = Action(function=lambda **arguments: done.append(arguments), tool="mail")
    with world.client() as client:
        asked = client.request_approval(Ask(tool="pay", arguments=PAYMENT))
        world.answer("approve")
        flow = keyturn.acting.take(client, asked.id, action, timeout=None)
        with pytest.raises(keyturn.NothingDone, match="pay"):
            client.drive(flow)
    assert (done, world.effects()) == ([], [("pay", "failed", "")])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": [1, None]}, {"a": (1.0, None)}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 0}, {"a": False}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ([1], [1, 1], False),
        ({}, [], False),
    ],
    ids=repr,
)
def test_what_says_the_same(one: object, other: object, same: bool) -> None:
    assert exact.same(one, other) is same
    assert exact.same(other, one) is same
