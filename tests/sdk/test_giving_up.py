"""Programs say that they wait, and take back what nobody could find again."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import keyturn
from keyturn import Approval, require_approval
from keyturn.testing import FakeApprover
from keyturn.waiting import give_up
from tests.examples.waiting import wait_until
from tests.sdk.mcp_programs import environment
from tests.sdk.worlds import Real, World


def pay(**more: Any) -> Any:
    return require_approval(tool="pay", **more)(lambda amount: f"paid {amount}")


def states(real: Real) -> list[str]:
    return [one["status"] for one in real.api.get("approvals").json()["items"]]


def stop(approval: Approval) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def people() -> Any:
    with FakeApprover() as people:
        yield people


def test_who_waits_says_so_and_where(
    people: FakeApprover, capsys: pytest.CaptureFixture[str]
) -> None:
    people.take_time(60)
    people.approve()
    pay()("1.00")
    said = capsys.readouterr()
    (approval,) = people._server.approvals.values()
    assert said.out == ""
    assert said.err == f"keyturn: pay waits for a person: {approval['review_url']}\n"


def test_in_a_run_as_well(
    people: FakeApprover, capsys: pytest.CaptureFixture[str]
) -> None:
    people.take_time(60)
    people.approve()
    with people.client() as client, client.run("TASK-1", subject="customer-7"):
        pay()("1.00")
    assert "pay waits for a person" in capsys.readouterr().err


def test_whoever_wants_to_be_told_otherwise_is(
    people: FakeApprover, capsys: pytest.CaptureFixture[str]
) -> None:
    people.take_time(60)
    people.approve()
    told: list[Approval] = []
    pay(on_wait=told.append)("1.00")
    pay(on_wait=None)("2.00")
    people.leave()
    with pytest.raises(keyturn.Paused):
        pay(wait=0)("3.00")
    assert [one.tool for one in told] == ["pay"]
    assert capsys.readouterr().err == ""


def test_what_is_stopped_while_it_waits_is_taken_back(world: World) -> None:
    with pytest.raises(KeyboardInterrupt):
        pay(on_wait=stop)("1.00")
    assert world.runs() == ["cancelled"]
    with world.client() as client:
        (found,) = client.list_approvals().items
    assert found.status == "cancelled"


def test_what_can_be_found_again_is_left_to_be_decided(world: World) -> None:
    with pytest.raises(KeyboardInterrupt):
        pay(on_wait=stop, key="INV-1")("1.00")
    with world.client() as client, pytest.raises(KeyboardInterrupt):  # noqa: SIM117
        with client.run("TASK-1", subject="customer-7"):
            pay(on_wait=stop)("2.00")
    with world.client() as client:
        assert {one.status for one in client.list_approvals().items} == {"pending"}
    assert set(world.runs()) == {"paused"}


def test_a_task_that_is_cancelled_takes_its_question_back(real: Real) -> None:
    async def work() -> None:
        asked = asyncio.Event()

        @require_approval(tool="pay", on_wait=lambda approval: asked.set())
        async def pay(amount: str) -> None:
            raise AssertionError

        task = asyncio.create_task(pay("1.00"))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert (states(real), real.runs()) == (["cancelled"], ["cancelled"])


def test_what_is_stopped_while_it_acts_stays_in_doubt(world: World) -> None:
    world.answer("approve")

    @require_approval(tool="pay", on_wait=None)
    def pay(amount: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pay("1.00")
    assert world.effects() == [("pay", "unknown", "")]
    assert world.runs() == ["needs_attention"]


def test_whoever_went_on_in_the_run_keeps_it(real: Real) -> None:
    """What the program has opened is not only its own any more."""

    def go_on(approval: Approval) -> None:
        with real.client() as client:
            run = client.get_run(approval.run)
            client.withdraw_approval(approval.id, reason="x")
            wait_until(lambda: client.get_run(run.id).state == "running")
            client.save_checkpoint(
                run.id, keyturn.Position(parent=1, payload="{}"), fence=run.fence
            )
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pay(on_wait=go_on)("1.00")
    assert real.runs() == ["running"]


def test_what_was_approved_and_not_used_is_taken_back_as_well(real: Real) -> None:
    with real.client() as client:
        asked = client.request_approval(keyturn.Ask(tool="pay", arguments={}))
        real.answer("approve")
        assert client.wait(asked.id).next == "redeem"
        client.drive(give_up(client, asked, reason="gone"))
    assert (states(real), real.runs()) == (["cancelled"], ["cancelled"])


@pytest.mark.usefixtures("stoppable")
def test_a_shell_that_is_interrupted_takes_its_question_back(real: Real) -> None:
    program = str(Path(sys.executable).parent / "keyturn")
    for key, status in (([], "cancelled"), (["--key", "v1"], "pending")):
        process = subprocess.Popen(
            [program, "ask", "--tool", "deploy", "--wait", *key],
            env=environment(real),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        assert process.stderr.readline().startswith("asked: http")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130
        assert states(real)[0] == status
