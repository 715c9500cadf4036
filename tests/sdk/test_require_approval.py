"""A function that asks first: the same in earnest and in the users' own tests."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import keyturn
from approvals.services.policies import publish_policy
from keyturn import require_approval
from tests.sdk.worlds import Real, World

ARGUMENTS = {"payee": "Halden Paper", "amount": "1240.00"}


class Bank:
    """What the gated function does; it remembers with what it was called."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.paid: list[tuple[str, str]] = []
        self.keys: list[str] = []

    def pay(self, payee: str, amount: str) -> dict[str, str]:
        self.paid.append((payee, amount))
        self.keys.append(keyturn.current_effect().idempotency_key)
        if self.error is not None:
            raise self.error
        return {"id": f"PAY-{len(self.paid)}"}


def gated(bank: Bank, **options: Any) -> Any:
    @require_approval(
        tool="send_payment",
        risk="high",
        external_id=lambda result: result["id"],
        **options,
    )
    def pay(payee: str, amount: str) -> dict[str, str]:
        return bank.pay(payee, amount)

    return pay


def test_it_runs_once_approved_and_the_outcome_is_known(world: World) -> None:
    bank = Bank()
    world.answer("approve")
    assert gated(bank)("Halden Paper", amount="1240.00") == {"id": "PAY-1"}
    assert bank.paid == [("Halden Paper", "1240.00")]
    assert len(bank.keys[0]) == 64
    assert world.effects() == [("send_payment", "confirmed", "PAY-1")]
    assert world.runs() == ["completed"]
    with pytest.raises(LookupError):
        keyturn.current_effect()


def test_it_runs_with_the_arguments_that_were_approved(world: World) -> None:
    bank = Bank()
    world.answer("edit", arguments={"amount": "10.00"})
    gated(bank)(**ARGUMENTS)
    assert bank.paid == [("Halden Paper", "10.00")]


def test_a_no_runs_nothing(world: World) -> None:
    bank = Bank()
    world.answer("reject", reason="Not this supplier")
    with pytest.raises(keyturn.Rejected) as caught:
        gated(bank)(**ARGUMENTS)
    assert caught.value.approval.reason == "Not this supplier"
    assert "Not this supplier" in str(caught.value)
    assert (bank.paid, world.effects()) == ([], [])
    assert world.runs() == ["cancelled"]


def test_an_answer_comes_instead(world: World) -> None:
    world.answer("respond", response={"say": "wait for the credit note"})
    with pytest.raises(keyturn.Answered) as caught:
        gated(Bank())(**ARGUMENTS)
    assert caught.value.response == {"say": "wait for the credit note"}


def test_changes_are_asked_for_and_then_made(world: World) -> None:
    bank = Bank()
    pay = gated(bank, key="INV-1042")
    world.answer("request_changes", reason="Which invoice?")
    with pytest.raises(keyturn.ChangesRequested) as caught:
        pay(**ARGUMENTS)
    with world.client() as client:
        client.revise_approval(
            caught.value.approval.id, arguments={**ARGUMENTS, "amount": "12.40"}
        )
    world.answer("approve")
    pay(**ARGUMENTS)
    assert bank.paid == [("Halden Paper", "12.40")]


def test_nobody_there_pauses_it_and_the_same_key_goes_on(world: World) -> None:
    bank = Bank()
    pay = gated(bank, key=lambda payee, amount: f"{payee}/{amount}", wait=0)
    with pytest.raises(keyturn.Paused) as caught:
        pay(**ARGUMENTS)
    assert caught.value.review_url.startswith("http")
    assert caught.value.review_url in str(caught.value)
    with pytest.raises(keyturn.Paused):
        pay(**ARGUMENTS)
    world.answer("approve")
    gated(bank, key="Halden Paper/1240.00")(**ARGUMENTS)
    assert bank.paid == [("Halden Paper", "1240.00")]
    assert world.questions() == 1
    with pytest.raises(keyturn.DoneAlready) as done:
        gated(bank, key="Halden Paper/1240.00")(**ARGUMENTS)
    assert done.value.approval.effect is not None
    assert done.value.approval.effect.external_id == "PAY-1"
    assert "was done before as PAY-1; another one needs another key" in str(done.value)
    assert len(bank.paid) == 1


def test_without_a_key_each_call_is_a_question_of_its_own(world: World) -> None:
    pay = gated(Bank(), wait=0)
    for _ in range(2):
        with pytest.raises(keyturn.Paused):
            pay(**ARGUMENTS)
    assert world.questions() == 2


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ConnectionResetError("by peer"), "unknown"),
        (KeyboardInterrupt(), "unknown"),
        (FileNotFoundError("no such account"), "failed"),
        (keyturn.NothingDone("refused by the bank"), "failed"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_function_raises_says_what_is_known(
    world: World, error: BaseException, outcome: str
) -> None:
    world.answer("approve")
    with pytest.raises(type(error)):
        gated(Bank(error), nothing_done=(FileNotFoundError,))(**ARGUMENTS)
    assert world.effects() == [("send_payment", outcome, "")]
    ended = {"unknown": "needs_attention", "failed": "cancelled"}
    assert world.runs() == [ended[outcome]]


def test_arguments_that_do_not_fit_any_more_run_nothing(world: World) -> None:
    bank = Bank()
    world.answer("edit", arguments={"currency": "NOK"})
    with pytest.raises(keyturn.NothingDone, match="currency"):
        gated(bank)(**ARGUMENTS)
    assert bank.paid == []
    assert world.effects() == [("send_payment", "failed", "")]


def test_whoever_comes_after_a_process_that_died_acting_does_not_act_again(
    world: World,
) -> None:
    bank = Bank()
    pay = gated(bank, key="INV-1042", wait=0)
    with pytest.raises(keyturn.Paused) as caught:
        pay(**ARGUMENTS)
    world.answer("approve")
    with world.client() as client:  # it redeems, and is never heard of again
        approval = client.wait(caught.value.approval.id)
        fence = client.claim_run(approval.run).fence
        handed = client.redeem_approval(approval.id, fence=fence).effect
    with pytest.raises(keyturn.InDoubt):
        pay(**ARGUMENTS)
    assert bank.paid == []
    again = gated(bank, key="INV-1042", repeatable=True)
    assert again(**ARGUMENTS) == {"id": "PAY-1"}
    assert bank.keys == [handed.idempotency_key]


def test_an_earlier_process_cannot_redeem_any_more(world: World) -> None:
    pay = gated(Bank(), key="INV-1042", wait=0)
    with pytest.raises(keyturn.Paused) as caught:
        pay(**ARGUMENTS)
    world.answer("approve")
    with world.client() as client:
        approval = client.wait(caught.value.approval.id)
        early = client.claim_run(approval.run).fence
        gated(Bank(), key="INV-1042")(**ARGUMENTS)
        with pytest.raises(keyturn.Conflict):
            client.redeem_approval(approval.id, fence=early)
    assert len(world.effects()) == 1


def test_coroutines_ask_as_functions_do(world: World) -> None:
    paid: list[str] = []

    @require_approval(tool="send_payment", external_id=lambda result: "PAY-9")
    async def pay(payee: str, amount: str) -> str:
        await asyncio.sleep(0)
        paid.append(amount)
        return payee

    world.answer("edit", arguments={"amount": "5.00"})
    assert asyncio.run(pay("Halden Paper", "1240.00")) == "Halden Paper"
    assert paid == ["5.00"]
    assert world.effects() == [("send_payment", "confirmed", "PAY-9")]


def test_a_cancelled_coroutine_reports_that_nobody_knows(world: World) -> None:
    begun = asyncio.Event()

    @require_approval(tool="send_payment")
    async def pay(amount: str) -> None:
        begun.set()
        await asyncio.sleep(3600)

    async def cancel_it() -> None:
        task = asyncio.create_task(pay(amount="1.00"))
        await begun.wait()
        task.cancel()
        await task

    world.answer("approve")
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel_it())
    assert world.effects() == [("send_payment", "unknown", "")]


def test_defaults_are_shown_too(world: World) -> None:
    @require_approval(tool="notify", target=lambda to, **rest: to, wait=0)
    def notify(to: str, *, urgent: bool = False, **more: str) -> None: ...

    with pytest.raises(keyturn.Paused) as caught:
        notify("ap@halden.example", subject="INV-1042")
    approval = caught.value.approval
    assert approval.arguments == {
        "to": "ap@halden.example",
        "urgent": False,
        "subject": "INV-1042",
    }
    assert approval.target == "ap@halden.example"


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        (float("nan"), "/arguments/amount"),
        (2**53 + 1, "/arguments/amount"),
        ({1: "one"}, "/arguments/amount"),
        ([b"bytes"], "/arguments/amount/0"),
        ({"a/b": {"~": object()}}, "/arguments/amount/a~1b/~0"),
    ],
    ids=["nan", "too-large", "number-as-key", "bytes", "object"],
)
def test_what_has_no_exact_form_is_not_asked_about(
    world: World, value: object, pointer: str
) -> None:
    with pytest.raises(keyturn.NotExact) as caught:
        gated(Bank())("Halden Paper", value)
    assert caught.value.pointer == pointer
    assert world.questions() == 0


def test_a_misspelt_name_is_no_default(world: World) -> None:
    with pytest.raises(TypeError, match="amount"):
        gated(Bank())(payee="Halden Paper", amonut="1240.00")
    assert world.questions() == 0


def test_only_named_parameters_can_be_approved() -> None:
    with pytest.raises(TypeError, match="name"):

        @require_approval(tool="pay")
        def pay(*amounts: str) -> None: ...


def test_the_server_is_asked_whether_the_arguments_hold_a_secret(real: Real) -> None:
    with pytest.raises(keyturn.Invalid) as caught:
        gated(Bank())("Halden Paper", "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc")
    assert caught.value.code == "secret_in_arguments"
    assert caught.value.pointer == "/arguments/amount"


def test_policy_that_changed_meanwhile_asks_again(real: Real) -> None:
    """A refusal of class reopen is no exception: the question is asked anew."""
    bank = Bank()
    with pytest.raises(keyturn.Paused):
        gated(bank, key="INV-1042", wait=0)(**ARGUMENTS)
    real.decide(real.pending(), "approve")
    with real.client() as client:
        client.wait(client.list_approvals().items[0].id)
    review = {"verdict": "require_review", "rules": [{"approvals": 2}]}
    publish_policy(
        tenant_id=real.house.id, by=real.house.alice.id, name="two", definition=review
    )
    real.answer_by_two("approve")
    gated(bank, key="INV-1042")(**ARGUMENTS)
    assert bank.paid == [("Halden Paper", "1240.00")]


def test_a_generator_is_not_gated() -> None:
    def pay(amount: str) -> Iterator[str]:
        yield amount

    async def pay_later(amount: str) -> AsyncIterator[str]:
        yield amount

    for generator in (pay, pay_later):
        with pytest.raises(TypeError, match="generator"):
            require_approval(tool="pay")(generator)


async def _later(amount: str) -> str:
    return amount


def _one_by_one(amount: str) -> Iterator[str]:
    yield amount


@pytest.mark.parametrize("unfinished", [_later, _one_by_one])
def test_what_has_yet_to_run_is_not_confirmed(world: World, unfinished: Any) -> None:
    pay = require_approval(tool="pay")(lambda amount: unfinished(amount))
    world.answer("approve")
    with pytest.raises(TypeError, match="not done yet"):
        pay(amount="1.00")
    assert world.effects() == [("pay", "unknown", "")]


def test_nor_is_it_on_an_event_loop(world: World) -> None:
    @require_approval(tool="pay")
    async def pay(amount: str) -> Any:
        return _later(amount)

    world.answer("approve")
    with pytest.raises(TypeError, match="not done yet"):
        asyncio.run(pay(amount="1.00"))
    assert world.effects() == [("pay", "unknown", "")]


def test_a_client_of_the_other_kind_is_refused(world: World) -> None:
    async def later(amount: str) -> None: ...

    def now(amount: str) -> None: ...

    with world.client() as client:
        for function, other in ((later, client), (now, world.async_client())):
            with pytest.raises(TypeError, match="Client"):
                require_approval(tool="pay", client=other)(function)
    assert world.questions() == 0


def test_a_run_of_the_other_kind_is_not_passed_over(world: World) -> None:
    @require_approval(tool="pay", wait=0)
    async def later(amount: str) -> None: ...

    @require_approval(tool="pay", wait=0)
    def now(amount: str) -> None: ...

    async def work() -> None:
        async with (
            world.async_client() as client,
            client.run("TASK-2", subject="customer-7"),
        ):
            now("1.00")

    with pytest.raises(TypeError, match="AsyncRun"):
        asyncio.run(work())
    with (
        world.client() as client,
        client.run("TASK-1", subject="customer-7"),
        pytest.raises(TypeError, match="Run"),
    ):
        asyncio.run(later("1.00"))
    assert world.questions() == 0


def test_that_nothing_was_done_inside_says_nothing_of_the_outside(world: World) -> None:
    """The inner refusal is no word of the outer function, which acted before it."""

    @require_approval(tool="mail")
    def mail(to: str) -> None:
        raise keyturn.NothingDone("no such address")

    @require_approval(tool="pay")
    def pay(amount: str) -> None:
        world.answer("approve")
        mail("ap@halden.example")

    world.answer("approve")
    with pytest.raises(keyturn.NothingDone):
        pay("1.00")
    assert world.effects() == [("pay", "unknown", ""), ("mail", "failed", "")]
