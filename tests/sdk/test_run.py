"""A run as a context: claimed, kept alive, saved, and picked up again."""

import asyncio
from typing import Any

import pytest

import keyturn
from keyturn import Action, Ask, Client, Fact, require_approval
from tests.examples.waiting import wait_until
from tests.flows.front import When, front_of
from tests.sdk.worlds import Real, World, front_client

ASK = Ask(tool="send_payment", arguments={"payee": "Halden Paper", "amount": "1.00"})


def test_it_goes_on_from_the_last_checkpoint(world: World) -> None:
    client = world.client()
    with client.run("TASK-1", subject="customer-7") as earlier:
        assert earlier.state is None
        earlier.say([{"role": "user", "content": "Pay."}], key="first")
        earlier.checkpoint({"step": "compared"}, completed=["read"], pending=["pay"])
    with client.run("TASK-1", subject="customer-7") as run:
        assert (run.id, run.head) == (earlier.id, 1)
        assert run.fence > earlier.fence
        assert run.state == {"step": "compared"}
        with pytest.raises(keyturn.Conflict) as caught:
            earlier.checkpoint({"step": "too late"})
        assert caught.value.code == "stale_writer"
        run.say([{"role": "user", "content": "Pay."}], key="first")
        assert len(client.list_items(run.session).items) == 1
        run.complete({"paid": False})
        assert run.is_ended
    with client.run("TASK-1", subject="customer-7") as run:
        assert run.is_ended
    client.close()


def test_facts_are_stated_once_they_are_known(world: World) -> None:
    with world.client() as client, client.run("TASK-1", subject="customer-7") as run:
        checked = Fact(
            value="passed",
            provenance="tool",
            reference="validator/8841",
            evidence_digest="9f3c",
        )
        run.record({"validation_status": checked}, reason="Validated")
        run.record({"lines": Fact(value=3, provenance="model")}, reason="Counted")
        facts = client.get_run(run.id).facts
    assert (facts["validation_status"].value, facts["lines"].value) == ("passed", 3)


def test_a_question_is_found_again_by_whoever_picks_the_run_up(world: World) -> None:
    with world.client() as client, client.run("TASK-1", subject="customer-7") as run:
        run.checkpoint({"step": "compared"})
        asked = run.ask(ASK, state={"step": "asked"}, timeout=0)
        assert asked.next == "wait"
    world.answer("edit", arguments={"amount": "0.50"})
    paid: list[Any] = []
    with world.client() as client, client.run("TASK-1", subject="customer-7") as run:
        assert run.state == {"step": "asked"}
        action = Action(function=lambda **arguments: paid.append(arguments))
        run.act(ASK, action)
        run.checkpoint({"step": "paid"})
        with pytest.raises(keyturn.DoneAlready):
            run.act(ASK, action)
        run.complete()
    assert paid == [{"payee": "Halden Paper", "amount": "0.50"}]
    assert (world.questions(), world.runs()) == (1, ["completed"])


def test_a_gated_function_belongs_to_the_run_around_it(world: World) -> None:
    @require_approval(tool="send_payment", wait=0)
    def pay(amount: str) -> str:
        return amount

    with world.client() as client, client.run("TASK-1", subject="customer-7") as run:
        run.checkpoint({"step": "compared"})
        with pytest.raises(keyturn.Paused) as caught:
            pay("1.00")
        assert caught.value.approval.run == run.id
        world.answer("approve")
        client.wait(caught.value.approval.id)
        assert pay("1.00") == "1.00"
        assert run.document.state == "running"
        assert run.state == {"step": "compared"}
        run.complete()
    assert keyturn.current_run() is None
    assert world.effects() == [("send_payment", "confirmed", "")]


def test_several_are_asked_at_once_and_answered_each(world: World) -> None:
    asks = [
        Ask(tool="pay", arguments={"n": 1}, tool_call_id="call_1"),
        Ask(tool="mail", arguments={"n": 1}, tool_call_id="call_2"),
    ]
    done: list[int] = []
    action = Action(function=done.append, fits=lambda arguments: None)
    with world.client() as client, client.run("TASK-1", subject="customer-7") as run:
        first, second = run.pause(asks)
        assert [first.tool_call_id, second.tool_call_id] == ["call_1", "call_2"]
        assert [one.id for one in run.pause(asks[::-1])] == [second.id, first.id]
        run.cancel("Not wanted any more.")
        assert client.get_approval(first.id).status == "cancelled"
    assert (done, action.repeatable) == ([], False)


def test_the_same_on_an_event_loop(world: World) -> None:
    @require_approval(tool="send_payment")
    async def pay(amount: str) -> str:
        return amount

    async def work() -> None:
        async with (
            world.async_client() as client,
            client.run("TASK-1", subject="customer-7") as run,
        ):
            await run.checkpoint({"step": "compared"})
            world.answer("approve")
            assert await pay("1.00") == "1.00"
            await run.complete({"paid": "1.00"})

    asyncio.run(work())
    assert world.effects() == [("send_payment", "confirmed", "")]
    assert world.runs() == ["completed"]


def test_the_lease_is_kept_while_the_block_lasts(real: Real) -> None:
    with (
        real.client() as client,
        client.run("TASK-1", subject="customer-7", lease_seconds=5) as run,
    ):
        begun = client.get_run(run.id).lease_until
        assert begun is not None

        def kept() -> bool:
            until = client.get_run(run.id).lease_until
            return until is not None and until > begun

        wait_until(kept)
        assert client.get_run(run.id).fence == run.fence


def test_lost_answers_and_a_restarted_server_change_nothing(real: Real) -> None:
    """Each kind of write loses its answer once, and the server dies while it is waited."""
    seen: set[str] = set()

    def accident(exchange: Any, when: When) -> bool:
        if when is When.BEFORE or not exchange.is_write or exchange.kind in seen:
            return False
        seen.add(exchange.kind)
        return True

    paid: list[Any] = []
    with front_of(real.url) as front, front_client(front.url, real) as client:
        front.accident = accident
        with client.run("TASK-1", subject="customer-7") as run:
            run.checkpoint({"step": "compared"})
            (asked,) = run.pause([ASK])
            real.kill_web_and_then("approve")
            run.act(ASK, Action(function=lambda **arguments: paid.append(arguments)))
            run.complete()
    assert seen >= {"sessions", "runs", "checkpoints", "pause", "claim", "redeem"}
    assert seen >= {"report", "complete"}
    assert paid == [dict(ASK.arguments)]
    assert (real.questions(), len(real.effects())) == (1, 1)
    assert asked.status == "pending"


def test_a_name_serves_one_subject(real: Real) -> None:
    with real.client() as client:
        with client.run("TASK-1", subject="customer-7"):
            pass
        with (
            pytest.raises(keyturn.Conflict) as caught,
            client.run("TASK-1", subject="customer-8"),
        ):
            pass
    assert caught.value.code == "subject_differs"


def test_a_key_is_sent_over_https_or_to_this_machine() -> None:
    for url in ("http://keyturn.example", "http://10.0.0.1:8000"):
        with pytest.raises(keyturn.NotConfigured, match="https"):
            Client(url, "kt_x")
    with pytest.raises(keyturn.NotConfigured, match="KEYTURN_API_KEY"):
        Client("https://keyturn.example")
