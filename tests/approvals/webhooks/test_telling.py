"""What is told of, in whose transaction, and what is not said."""

import json
from uuid import UUID

import pytest

from approvals.happenings import EVENT_TYPES, KINDS, PING
from approvals.models import Decision, Request, WebhookDelivery
from approvals.services.revoke import revoke
from approvals.services.webhooks import ping_webhook, switch_webhook
from audit.models import Entry
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.verbs import Verb, perform
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.webhooks.listening import Listening
from tests.approvals.webhooks.receiver import Receiver

V = Decision.Verdict


def told(listening: Listening) -> list[str]:
    return [one.event_type for one in listening.deliveries()]


def test_each_step_of_an_approval_is_told(listening: Listening) -> None:
    stage = listening.stage
    request = stage.answer(stage.ask())
    revoke(stage.bob.person, request_id=request.id, reason="No.")
    assert told(listening) == [
        "approval.requested",
        "run.paused",
        "approval.decided",
        "approval.revoked",
    ]


@pytest.mark.parametrize(
    ("verdict", "status"),
    [(V.REJECT, "rejected"), (V.REQUEST_CHANGES, "changes_requested")],
)
def test_a_decision_tells_what_it_came_to(
    listening: Listening, verdict: str, status: str
) -> None:
    request = listening.stage.ask()
    listening.stage.answer(request, verdict=verdict, reason="No.")
    last = listening.deliveries()[-1]
    body = json.loads(last.body)
    assert body["type"] == "approval.decided"
    assert body["data"]["status"] == status
    assert body["data"]["approval"] == str(request.id)


def test_a_refusal_by_policy_is_told(listening: Listening) -> None:
    listening.stage.policy("never", verdict="deny")
    listening.stage.ask()
    assert told(listening).count("approval.decided") == 1


def test_a_message_names_its_audit_entry_and_no_arguments(
    listening: Listening,
) -> None:
    stage = listening.stage
    request = stage.ask(explanation="Please pay them.")
    first = listening.deliveries()[0]
    with tenant_transaction(stage.tenant_id):
        entry = Entry.objects.get(id=first.event)
    body = json.loads(first.body)
    assert (entry.kind, entry.subject_id) == ("request.asked", request.id)
    assert body["id"] == str(entry.id)
    assert body["data"]["digest"] == stage.digest(request).hex()
    for said in (*ARGUMENTS.values(), "Please pay", "customer-7"):
        assert said not in first.body


def test_arguments_are_told_to_whoever_asked_for_them(
    stage: Stage, receiver: Receiver
) -> None:
    listening = Listening.to(stage, receiver, with_arguments=True)
    stage.ask()
    assert json.loads(listening.deliveries()[0].body)["data"]["arguments"] == ARGUMENTS


def test_only_what_was_chosen_is_told(stage: Stage, receiver: Receiver) -> None:
    listening = Listening.to(stage, receiver, "approval.decided")
    stage.answer(stage.ask())
    assert told(listening) == ["approval.decided"]


def test_a_transaction_that_fails_tells_nobody(listening: Listening) -> None:
    stage = listening.stage

    def work(verb: Verb) -> None:
        request = Request.objects.get(id=asked.id)
        verb.record(
            "request.revoked",
            actor=stage.house.robot.principal.actor,
            subject=("request", request.id),
        )
        verb.after_commit(lambda: committed.append(True))
        raise Problem("not_found")

    asked, committed = stage.ask(), list[bool]()
    before = told(listening)
    with pytest.raises(Problem):
        perform(stage.tenant_id, work)
    assert (told(listening), committed) == (before, [])


def test_another_tenant_is_told_nothing(listening: Listening) -> None:
    other = fresh_stage()
    other.ask()
    assert told(listening) == []
    with tenant_transaction(other.tenant_id):
        assert not WebhookDelivery.objects.exists()


def test_what_is_switched_off_is_told_nothing(listening: Listening) -> None:
    stage = listening.stage
    switch_webhook(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        webhook_id=listening.webhook.id,
        enabled=False,
    )
    stage.ask()
    assert told(listening) == []


def test_a_ping_goes_to_whatever_listens(stage: Stage, receiver: Receiver) -> None:
    listening = Listening.to(stage, receiver, "run.completed")
    ping_webhook(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        webhook_id=listening.webhook.id,
    )
    assert told(listening) == [PING]
    assert json.loads(listening.deliveries()[0].body)["data"] == {}


def test_every_event_type_has_a_kind_of_entry() -> None:
    assert set(KINDS.values()) | {"approval.authority_lost"} == set(EVENT_TYPES)
    assert all(len(one) <= 32 for one in (*EVENT_TYPES, PING))


def test_ids_of_messages_are_unique(listening: Listening) -> None:
    listening.stage.answer(listening.stage.ask())
    events: list[UUID] = [one.event for one in listening.deliveries()]
    assert len(set(events)) == len(events) == 3
