"""Chats: what they are told, in which words, and what they are not told any more."""

from typing import Any

import pytest

from approvals.chat import CHAT_TYPES
from approvals.happenings import ANOTHER_KEY, EVENT_TYPES
from approvals.models import Decision, Request, WebhookDelivery
from approvals.services.chats import change_chat
from approvals.services.erasure import erase_session
from approvals.services.nudging import nudge
from approvals.services.queues import create_queue, give_right
from approvals.services.revoke import revoke
from approvals.services.webhooks import (
    create_webhook,
    ping_webhook,
    replay_delivery,
)
from kernel.clock import ClockTimestamp
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.checks import Operator
from tests.approvals.glass_stage import glass_stage
from tests.approvals.stage import ARGUMENTS, Stage
from tests.approvals.test_nudging import due, watched
from tests.approvals.webhooks.chatting import (
    SECRET,
    chatting,
    header,
    headlines,
)
from tests.approvals.webhooks.listening import Listening
from tests.approvals.webhooks.receiver import Receiver
from tests.refusals import refused

V = Decision.Verdict
State = WebhookDelivery.State
WAITS = "A request waits for a decision"


def states(chat: Listening) -> list[str]:
    return [one.state for one in chat.deliveries()]


def by(stage: Stage) -> dict[str, Any]:
    return {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}


def told(chat: Listening) -> list[str]:
    return [one.event_type for one in chat.deliveries()]


# -- What is told -------------------------------------------------------------------------


def test_a_request_is_told_in_words_with_a_link_and_without_arguments(
    stage: Stage, receiver: Receiver, settings: Any
) -> None:
    settings.BASE_URL = "https://keyturn.example"
    chat = chatting(stage, receiver)
    request = stage.ask(explanation="Please pay them.", arguments={
        **ARGUMENTS, "urgent": True, "lines": ["L-4711"],
    })  # fmt: skip
    assert chat.turn() == 1
    (one,) = receiver.received
    assert one.path.endswith(SECRET)
    assert (header(one), one.headers["content-type"]) == (WAITS, "application/json")
    assert not [name for name in one.headers if name.startswith("webhook-")]
    case = f"/t/{stage.house.tenant.slug}/queue/{request.id}"
    text = one.told["text"]
    for said in (
        *("Pay 1240.00 to Halden Paper Supply", "Tool: pay", "Risk: High"),
        *(f"Queue: {stage.queue.name}", "Is: Pending", "Decide by", "UTC"),
        f"Open the case: https://keyturn.example{case}",
    ):
        assert said in text
    for kept in ("Please pay them", "L-4711", "urgent", "customer-7"):
        assert kept not in one.body.decode()
    assert states(chat) == [State.DELIVERED]


def test_its_words_are_kept_nowhere(stage: Stage, receiver: Receiver) -> None:
    chat = chatting(stage, receiver)
    stage.ask()
    (row,) = chat.deliveries()
    assert ARGUMENTS["payee"] not in row.body


def test_who_is_not_asked_is_not_told_that_somebody_waits(
    stage: Stage, receiver: Receiver
) -> None:
    """What policy decides by itself: nobody has anything to do."""
    chat = chatting(stage, receiver)
    stage.policy("never", verdict="deny", selector="arguments.amount == '2.00'")
    stage.let_through("always", selector="arguments.amount == '1.00'")
    for amount, state in (("2.00", "rejected"), ("1.00", "approved")):
        request = stage.ask(arguments={**ARGUMENTS, "amount": amount})
        assert request.state == state
    assert told(chat) == []
    stage.ask()
    assert told(chat) == ["approval.requested"]


def test_each_turn_of_a_key_is_told_until_it_is_the_last(
    stage: Stage, receiver: Receiver
) -> None:
    stage.policy(rules=[{"approvals": 2}])
    chat = chatting(stage, receiver)
    events = Listening.to(stage, receiver, *EVENT_TYPES)
    request = stage.ask()
    stage.answer(request)
    chat.turn()
    stage.answer(request, by=stage.reviewer())
    chat.turn()
    assert told(chat) == ["approval.requested", ANOTHER_KEY, "approval.decided"]
    assert headlines(receiver) == [
        WAITS,
        "A request needs another person's key",
        "A request was approved",
    ]
    assert ANOTHER_KEY not in told(events)
    with refused("webhook.event_types_refused"):
        create_webhook(**by(stage), url=receiver.url, event_types=[ANOTHER_KEY])


@pytest.mark.parametrize(
    ("verdict", "headline"),
    [
        (V.REJECT, "A request was rejected"),
        (V.REQUEST_CHANGES, "Changes to a request are asked for"),
    ],
)
def test_what_it_came_to_is_told(
    stage: Stage, receiver: Receiver, verdict: str, headline: str
) -> None:
    chat = chatting(stage, receiver, "approval.decided")
    stage.answer(stage.ask(), verdict=verdict, reason="No.")
    chat.turn()
    assert headlines(receiver) == [headline]
    assert "Decide by" not in receiver.received[0].told["text"]


def test_an_edit_that_suffices_is_told_as_decided(
    stage: Stage, receiver: Receiver
) -> None:
    stage.policy(rules=[{"approvals": 1}], editor_counts=True)
    chat = chatting(stage, receiver)
    request = stage.ask()
    less = {**ARGUMENTS, "amount": "1.00"}
    stage.answer(request, verdict=V.EDIT, arguments=less, reason="Less.")
    chat.turn()
    assert headlines(receiver) == ["A request was approved"]
    assert "Pay 1.00 to" in receiver.received[0].told["text"]


def test_that_somebody_broke_the_glass_is_told(receiver: Receiver) -> None:
    stage = glass_stage()
    stage.permit()
    chat = chatting(stage, receiver, "approval.broke_glass")
    stage.smash(stage.ask())
    chat.turn()
    (headline,) = headlines(receiver)
    assert "one person approved alone" in headline


def test_a_reminder_and_an_escalation_are_told(
    stage: Stage, receiver: Receiver
) -> None:
    other = create_queue(**by(stage), slug="leads", name="Leads")
    give_right(
        **by(stage), queue_id=other.id, right="decide", member_id=stage.reviewer().id
    )
    watched(stage, remind_after=60, escalate_after=60, to_queue_id=other.id)
    chat = chatting(stage, receiver, "approval.reminded", "approval.escalated")
    nudge(stage.tenant_id, due(stage, stage.ask()).id)
    chat.turn()
    assert headlines(receiver) == [
        "A request still waits for a decision",
        "A request waits too long: others are asked as well",
    ]


def test_that_nobody_decided_in_time_is_told(stage: Stage, receiver: Receiver) -> None:
    chat = chatting(stage, receiver, "approval.expired")
    request = stage.ask()
    with tenant_transaction(stage.tenant_id):
        Request.objects.filter(id=request.id).update(due_at=ClockTimestamp())
    with pytest.raises(Problem):  # expired, or a sweep has said so before
        stage.answer(request)
    chat.turn()
    assert headlines(receiver) == ["Nobody decided in time"]


def test_a_chat_of_one_queue_hears_of_no_other(
    stage: Stage, receiver: Receiver
) -> None:
    other = create_queue(**by(stage), slug="leads", name="Leads")
    mine = chatting(stage, receiver, queue_id=stage.queue.id)
    theirs = chatting(stage, receiver, queue_id=other.id)
    stage.ask()
    assert (told(mine), told(theirs)) == (["approval.requested"], [])


def test_a_test_message_says_what_it_is(stage: Stage, receiver: Receiver) -> None:
    chat = chatting(stage, receiver, "approval.expired")
    ping_webhook(**by(stage), webhook_id=chat.webhook.id)
    assert chat.turn() == 1
    assert headlines(receiver) == ["Keyturn can write here"]
    assert "This is a test" in receiver.received[0].told["text"]


def test_a_revoked_approval_is_no_news_for_a_chat(
    stage: Stage, receiver: Receiver
) -> None:
    chat = chatting(stage, receiver)
    request = stage.answer(stage.ask())
    revoke(stage.bob.person, request_id=request.id, reason="No.")
    assert told(chat) == ["approval.requested", "approval.decided"]


# -- What is over is not told -------------------------------------------------------------


def test_what_was_decided_meanwhile_is_dropped_and_what_came_of_it_told(
    stage: Stage, receiver: Receiver
) -> None:
    chat = chatting(stage, receiver)
    request = stage.ask()
    stage.answer(request)
    assert chat.turn() == 1
    assert headlines(receiver) == ["A request was approved"]
    assert states(chat) == [State.DROPPED, State.DELIVERED]
    first = chat.deliveries()[0]
    assert (first.attempts, first.due_at) == (0, None)
    replay_delivery(**by(stage), delivery_id=first.id)
    assert chat.turn() == 0
    assert states(chat) == [State.DROPPED, State.DELIVERED]


def test_a_wording_that_was_replaced_is_told_no_more(
    stage: Stage, receiver: Receiver
) -> None:
    stage.policy(rules=[{"approvals": 2}])
    chat = chatting(stage, receiver)
    request = stage.ask()
    less = {**ARGUMENTS, "amount": "1.00"}
    stage.answer(request, verdict=V.EDIT, arguments=less, reason="Less.")
    assert chat.turn() == 1
    assert states(chat) == [State.DROPPED, State.DELIVERED]
    assert "Pay 1.00 to" in receiver.received[0].told["text"]


def test_nothing_is_told_of_what_was_erased(stage: Stage, receiver: Receiver) -> None:
    chat = chatting(stage, receiver)
    request = stage.answer(stage.ask(), verdict=V.REJECT, reason="No.")
    erase_session(
        tenant_id=stage.tenant_id, by=Operator.CONSOLE, session_id=request.session_id
    )
    assert chat.turn() == 0
    assert receiver.received == []
    assert set(states(chat)) <= {State.DROPPED}  # or gone, where a worker was quicker


def test_a_chat_that_was_turned_to_another_queue_hears_nothing_of_the_former(
    stage: Stage, receiver: Receiver
) -> None:
    chat = chatting(stage, receiver)
    other = create_queue(**by(stage), slug="leads", name="Leads")
    stage.ask()
    change_chat(
        **by(stage),
        webhook_id=chat.webhook.id,
        event_types=list(CHAT_TYPES),
        queue_id=other.id,
    )
    assert chat.turn() == 0
    assert (receiver.received, states(chat)) == ([], [State.DROPPED])
