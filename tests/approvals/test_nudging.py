"""Reminded after a while, escalated after longer: once each, and nothing else changes."""

from collections.abc import Callable
from typing import Any

import pytest

from approvals.happenings import happening
from approvals.models import Decision, Nudge, Queue, Request, WebhookDelivery
from approvals.resume.sweep import sweep
from approvals.services.nudging import nudge, set_nudges
from approvals.services.queues import create_queue, give_right
from approvals.services.webhooks import create_webhook
from audit.models import Entry
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tenants.services import add_to_group, create_group
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.concurrency import together
from tests.examples.waiting import wait_until
from tests.factories import Somebody, fresh_member
from tests.refusals import refused

V = Decision.Verdict


def watched(stage: Stage, **set: Any) -> None:
    times = {"remind_after": 60, **set}
    by = stage.house.alice.id
    set_nudges(tenant_id=stage.tenant_id, by=by, queue_id=stage.queue.id, **times)


def leads(stage: Stage) -> tuple[Any, Somebody, Somebody]:
    """A group of two, one of whom may see the queue and not decide there."""
    by = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    group = create_group(**by, name="Leads")
    lea, blind = [fresh_member(stage.house.alice, one) for one in ("Lea", "Blind")]
    for who in (lea, blind):
        add_to_group(**by, group_id=group.id, member_id=who.id)
    give_right(**by, queue_id=stage.queue.id, right="view", member_id=lea.id)
    return group, lea, blind


def due(stage: Stage, request: Request) -> Nudge:
    """A while has passed. A sweep of the installation may come first: so be it."""
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_nudge SET remind_at = now() - interval '2 minutes',"
            " escalate_at = escalate_at - interval '1 day', due_at = now() - interval '1 minute'"
            " WHERE request_id = %s AND due_at IS NOT NULL",
            [request.id],
        )
    with tenant_transaction(stage.tenant_id):
        return Nudge.objects.get(request=request)


def entries(stage: Stage, request: Request) -> list[Entry]:
    kinds = ("request.reminded", "request.escalated")
    with tenant_transaction(stage.tenant_id):
        rows = Entry.objects.filter(subject_id=request.id, kind__in=kinds)
        return list(rows.order_by("seq"))


def test_those_who_are_asked_are_reminded_once() -> None:
    stage = fresh_stage()
    watched(stage)
    anna, bea, carl = map(stage.reviewer, ("Anna", "Bea", "Carl"))
    stage.policy(rules=[{"approvals": 3}])
    stage.on_leave(anna, fresh_member(stage.house.alice, "Nobody"))
    request = stage.ask()
    stage.answer(request, by=bea)
    found = due(stage, request)
    together(*[lambda: nudge(stage.tenant_id, found.id)] * 4)
    (entry,) = entries(stage, request)
    assert entry.kind == "request.reminded"
    asked = {str(one.id) for one in (stage.bob, anna, carl)}
    assert set(entry.data["members"]) == asked
    assert stage.fresh(found).due_at is None
    assert stage.fresh(request).due_at == request.due_at


def test_whoever_stands_in_is_asked_as_well_where_they_may_answer() -> None:
    stage = fresh_stage()
    watched(stage)
    anna = stage.reviewer("Anna")
    dora = fresh_member(stage.house.alice, "Dora")
    by = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    for right in ("view", "decide"):
        give_right(**by, queue_id=stage.queue.id, right=right, member_id=dora.id)
    stage.policy(rules=[{"eligible": {"members": [str(anna.id)]}}])
    stage.on_leave(anna, dora)
    request = stage.ask()
    nudge(stage.tenant_id, due(stage, request).id)
    assert entries(stage, request)[0].data["members"] == [str(anna.id)]


def test_others_are_asked_too_and_get_no_right_by_it() -> None:
    stage = fresh_stage()
    group, lea, _ = leads(stage)
    watched(stage, escalate_after=120, group_id=group.id)
    request = stage.ask()
    found = due(stage, request)
    nudge(stage.tenant_id, found.id)
    nudge(stage.tenant_id, found.id)
    reminded, escalated = entries(stage, request)
    assert (reminded.kind, escalated.kind) == ("request.reminded", "request.escalated")
    assert escalated.data["members"] == [str(lea.id)]  # the other cannot see it
    assert stage.fresh(found).asked_too == [lea.id]
    with refused("not_permitted"):
        stage.answer(request, by=lea)
    assert stage.answer(request).state == Request.State.APPROVED


def test_sweeps_find_what_is_due_and_webhooks_hear_of_it_without_names() -> None:
    stage = fresh_stage()
    by = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    create_webhook(
        **by,
        url="https://hooks.example/in",
        event_types=["approval.reminded", "approval.escalated"],
    )
    other = create_queue(**by, slug="leads", name="Leads")
    give_right(**by, queue_id=other.id, right="decide", member_id=stage.bob.id)
    watched(stage, escalate_after=60, to_queue_id=other.id)
    request = stage.ask()
    due(stage, request)
    wait_until(lambda: sweep() and len(entries(stage, request)) == 2)
    with tenant_transaction(stage.tenant_id):
        bodies = list(WebhookDelivery.objects.values_list("event_type", "body"))
    assert {type for type, _ in bodies} == {"approval.reminded", "approval.escalated"}
    assert str(stage.bob.id) not in str(bodies)
    for entry in entries(stage, request):
        about = (entry.subject_type, entry.subject_id)
        event = happening(entry.id, f"approval.{entry.kind[8:]}", about, entry.data)
        assert event.members == (stage.bob.id,)


def it_was_decided(stage: Stage, request: Request) -> None:
    stage.answer(request)


def changes_were_asked_for(stage: Stage, request: Request) -> None:
    stage.answer(request, verdict=V.REQUEST_CHANGES, reason="Smaller.")


def it_is_no_longer_set(stage: Stage, request: Request) -> None:
    watched(stage, remind_after=None)


@pytest.mark.parametrize(
    "change", [it_was_decided, changes_were_asked_for, it_is_no_longer_set]
)
def test_nobody_is_reminded_once(change: Callable[[Stage, Request], None]) -> None:
    stage = fresh_stage()
    watched(stage)
    request = stage.ask()
    change(stage, request)
    found = due(stage, request)
    nudge(stage.tenant_id, found.id)
    assert entries(stage, request) == []
    assert stage.fresh(found).due_at is None


def test_a_new_wording_waits_anew() -> None:
    stage = fresh_stage()
    watched(stage)
    stage.policy(editor_counts=False)
    request = stage.ask()
    nudge(stage.tenant_id, due(stage, request).id)
    edited = {**ARGUMENTS, "amount": "1.00"}
    carol = stage.reviewer()
    stage.answer(request, by=carol, verdict=V.EDIT, arguments=edited, reason="Less.")
    nudge(stage.tenant_id, due(stage, request).id)
    assert [one.data["revision"] for one in entries(stage, request)] == [1, 2]


def test_it_counts_at_once_for_what_waits_already() -> None:
    stage = fresh_stage()
    request = stage.ask()
    watched(stage)
    nudge(stage.tenant_id, due(stage, request).id)
    watched(stage, remind_after=120)
    assert stage.fresh(due(stage, request)).due_at is None
    assert len(entries(stage, request)) == 1


@pytest.mark.parametrize(
    ("pointer", "said"),
    [
        ("/remind_after", {"remind_after": 59}),
        ("/escalate_after", {"escalate_after": 31 * 86_400, "group_id": new_id()}),
        ("/escalate_to", {"escalate_after": 60}),
        ("/escalate_to", {"group_id": new_id()}),
    ],
)
def test_what_cannot_be_set(pointer: str, said: dict[str, Any]) -> None:
    stage = fresh_stage()
    with refused("nudge_invalid", pointer=pointer):
        watched(stage, **said)
    with refused("nudge_invalid", pointer="/escalate_to"):
        watched(stage, escalate_after=60, to_queue_id=stage.queue.id)


def test_it_is_for_administrators_and_of_their_tenant() -> None:
    stage, other = fresh_stage(), fresh_stage()
    of = {"tenant_id": stage.tenant_id, "queue_id": stage.queue.id}
    with refused("not_permitted"):
        set_nudges(**of, by=stage.bob.id, remind_after=60)
    with refused("not_found"):
        watched(stage, escalate_after=60, group_id=other.house.reviewers.id)
    with refused("not_found"):
        watched(stage, escalate_after=60, to_queue_id=other.queue.id)
    watched(stage)
    with tenant_transaction(stage.tenant_id):
        assert Queue.objects.get(id=stage.queue.id).remind_after == 60
