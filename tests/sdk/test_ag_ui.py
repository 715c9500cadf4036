"""AG-UI: interrupts in the protocol's own shape, and resumes that answer nothing."""

from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import ResumeEntry, RunFinishedEvent

import keyturn
from keyturn import Ask, Client, Run
from keyturn.ag_ui import ABANDONED, NotUnderstood, interrupted, take_resume
from keyturn.testing import FakeApprover
from tests.sdk.worlds import World

ASKS = [
    Ask(tool="pay", arguments={"n": 1}, tool_call_id="call_1"),
    Ask(tool="mail", arguments={"n": 2}, tool_call_id="call_2"),
]


@pytest.fixture
def people() -> Iterator[FakeApprover]:
    with FakeApprover() as people:
        yield people


def opened(client: Client) -> Run:
    return client.run("TASK-1", subject="customer-7")


def entry(id: str, status: Any, payload: Any = None) -> dict[str, Any]:
    sent = ResumeEntry(interrupt_id=id, status=status, payload=payload)
    return sent.model_dump(by_alias=True, mode="json")


def test_what_nobody_answered_is_an_interrupt(world: World) -> None:
    with world.client() as client, opened(client) as run:
        assert run.drive(interrupted(run)) is None
        asked = run.pause(ASKS)
        outcome = run.drive(interrupted(run))
        told = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
        event = RunFinishedEvent.model_validate({**told, "outcome": outcome})
        interrupts: Any = event.outcome
        assert {one.id for one in interrupts.interrupts} == {one.id for one in asked}
        one = next(one for one in interrupts.interrupts if one.id == asked[0].id)
        assert one.tool_call_id == "call_1"
        assert one.message is not None
        assert one.message.endswith(asked[0].review_url)
        run.cancel("Enough.")


def test_a_page_takes_back_and_answers_nothing(world: World) -> None:
    with world.client() as client, opened(client) as run:
        pay, mail = run.pause(ASKS)
        body = [
            entry(pay.id, "resolved", {"approved": True}),
            entry(mail.id, "cancelled"),
        ]
        found = run.drive(take_resume(run, body))
        again = run.drive(take_resume(run, body))
    assert [one.status for one in found] == ["pending", "cancelled"]
    assert [one.status for one in again] == ["pending", "cancelled"]
    assert found[1].reason == ABANDONED
    assert world.effects() == []


def test_a_no_of_the_page_is_taken_at_its_word(world: World) -> None:
    with world.client() as client, opened(client) as run:
        pay, mail = run.pause(ASKS)
        no, neither = {"approved": False}, {"approved": False, "because": "x"}
        body = [
            entry(pay.id, "resolved", no),
            entry(mail.id, "resolved", neither),
        ]
        found = run.drive(take_resume(run, body))
        run.cancel("Enough.")
    assert [one.status for one in found] == ["cancelled", "pending"]


def test_what_is_approved_can_still_be_taken_back(people: FakeApprover) -> None:
    people.approve()
    with people.client() as client, opened(client) as run:
        (pay,) = run.pause(ASKS[:1])
        client.wait(pay.id)
        run.drive(take_resume(run, [entry(pay.id, "cancelled")]))
        with pytest.raises(keyturn.TakenBack):
            run.act(ASKS[0], keyturn.Action(function=lambda n: n))


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        [None],
        [{}],
        [{"interruptId": "other", "status": "cancelled"}],
        [{"interruptId": "PAY", "status": "approved"}],
        [{"interruptId": "PAY"}],
        [{"interruptId": ["PAY"], "status": "cancelled"}],
        [
            {"interruptId": "PAY", "status": "cancelled"},
            {"interruptId": "other", "status": "cancelled"},
        ],
    ],
    ids=repr,
)
def test_another_body_does_nothing(people: FakeApprover, body: Any) -> None:
    with people.client() as client, opened(client) as run:
        (pay,) = run.pause(ASKS[:1])
        for one in body or ():
            if isinstance(one, dict) and one.get("interruptId") == "PAY":
                one["interruptId"] = pay.id
        with pytest.raises(NotUnderstood):
            run.drive(take_resume(run, body))
        assert client.get_approval(pay.id).status == "pending"
