"""Whoever acts again under the key of an attempt of which nothing is known."""

from typing import Any

import pytest

import keyturn
from keyturn import HandedEffect, require_approval
from tests.sdk.worlds import World

PAYMENT = {"payee": "Halden Paper", "amount": "1240.00"}


def pay_as(function: Any, **options: Any) -> Any:
    gate = require_approval(
        tool="send_payment", key="INV-1042", repeatable=True, **options
    )
    return gate(function)


def taken_up(world: World) -> HandedEffect:
    """The effect of a process that was approved, redeemed and died."""

    def pay(payee: str, amount: str) -> None: ...

    with pytest.raises(keyturn.Paused) as caught:
        pay_as(pay, wait=0)(**PAYMENT)
    world.answer("approve")
    with world.client() as client:
        approval = client.wait(caught.value.approval.id)
        fence = client.claim_run(approval.run).fence
        return client.redeem_approval(approval.id, fence=fence).effect


@pytest.mark.parametrize("error", [FileNotFoundError("gone"), keyturn.NothingDone()])
def test_that_nothing_was_done_this_time_is_no_outcome(
    world: World, error: Exception
) -> None:
    taken_up(world)

    def pay(payee: str, amount: str) -> None:
        raise error

    with pytest.raises(keyturn.InDoubt) as caught:
        pay_as(pay, nothing_done=(FileNotFoundError,))(**PAYMENT)
    assert caught.value.__cause__ is error
    assert world.effects() == [("send_payment", "unknown", "")]
    assert world.runs() == ["needs_attention"]


def test_nor_is_a_function_that_changed_meanwhile(world: World) -> None:
    taken_up(world)

    def pay_less(**only: str) -> None:
        raise AssertionError

    narrow = keyturn.Action(
        function=pay_less,
        fits=lambda arguments: (lambda payee: None)(**arguments),
        repeatable=True,
    )
    with world.client() as client:
        (asked,) = client.list_approvals().items
        with pytest.raises(keyturn.InDoubt):
            client.drive(keyturn.acting.take(client, asked.id, narrow, timeout=None))
    assert world.effects() == [("send_payment", "unknown", "")]


def test_its_success_is_one(world: World) -> None:
    handed = taken_up(world)
    keys: list[str] = []

    def pay(payee: str, amount: str) -> None:
        keys.append(keyturn.current_effect().idempotency_key)

    pay_as(pay)(**PAYMENT)
    assert keys == [handed.idempotency_key]
    assert world.effects() == [("send_payment", "confirmed", "")]
