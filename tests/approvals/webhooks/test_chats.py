"""Chats: what they are told, what not, and that their address is nobody's to read."""

from datetime import timedelta
from typing import Any

import pytest
import structlog
from django.db import IntegrityError

from approvals.chat import CHAT_TYPES
from approvals.happenings import ANOTHER_KEY, EVENT_TYPES
from approvals.models import Decision, Webhook, WebhookDelivery, WebhookSecret
from approvals.resume.delivering import Message
from approvals.services.chats import add_chat, change_chat
from approvals.services.erasure import erase_session
from approvals.services.queues import create_queue
from approvals.services.revoke import revoke
from approvals.services.webhooks import (
    change_webhook,
    create_webhook,
    end_former_secrets,
    ping_webhook,
    replay_delivery,
    rotate_secret,
)
from audit.models import Entry
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tenants.checks import Operator
from tenants.vault import destroy
from tests.approvals.glass_stage import glass_stage
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.webhooks.chatting import (
    SECRET,
    SHOWN,
    address_of,
    chatting,
    header,
    headlines,
)
from tests.approvals.webhooks.listening import Listening
from tests.approvals.webhooks.receiver import Receiver
from tests.chain import kinds_of
from tests.flows.test_canaries import dump
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


# -- What comes back ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "answer", "code"),
    [
        (404, b"no_service", "no_service"),
        (400, b"invalid_payload", "invalid_payload"),
        (403, b"<b>You were approved</b>", "status_403"),
        (500, b"", "status_500"),
    ],
)
def test_why_it_was_not_taken_is_kept_as_a_known_word(
    stage: Stage, receiver: Receiver, status: int, answer: bytes, code: str
) -> None:
    chat = chatting(stage, receiver)
    receiver.status, receiver.answer = status, answer
    stage.ask()
    chat.turn()
    (tried,) = chat.attempts()
    assert (tried.status, tried.code) == (status, code)
    assert states(chat) == [State.QUEUED]


def test_an_archived_channel_switches_the_chat_off(
    stage: Stage, receiver: Receiver
) -> None:
    chat = chatting(stage, receiver)
    receiver.status, receiver.answer = 410, b"channel_is_archived"
    stage.ask()
    chat.turn()
    assert (chat.now().enabled, chat.attempts()[0].code) == (
        False,
        "channel_is_archived",
    )


def test_who_asks_for_time_is_sent_nothing_at_all_until_then(
    stage: Stage, receiver: Receiver
) -> None:
    chat = chatting(stage, receiver, "approval.requested")
    receiver.status, receiver.headers = 429, {"Retry-After": "600"}
    stage.ask()
    chat.turn()
    stage.ask()
    chat.let_pass(timedelta(seconds=590))
    assert sum(chat.turn(one.id) for one in chat.deliveries()) == 0
    assert len(receiver.received) == 1
    receiver.status, receiver.headers = 200, {}
    chat.let_pass(timedelta(seconds=20))
    chat.turn()
    assert states(chat) == [State.DELIVERED] * 2


# -- Its address --------------------------------------------------------------------------


def test_its_address_is_nowhere_to_be_read(stage: Stage, receiver: Receiver) -> None:
    secret = SECRET.rpartition("/")[2]
    with structlog.testing.capture_logs() as logs:
        chat = chatting(stage, receiver)
        receiver.status = 500
        stage.ask()
        chat.turn()
    assert len(receiver.received) == 1
    assert secret[:-4] not in dump()
    assert secret[:-4] not in str(logs)
    assert chat.now().url.endswith(SHOWN)
    with tenant_transaction(stage.tenant_id):
        (entry,) = Entry.objects.filter(subject_id=chat.webhook.id)
    assert entry.data["format"] == "chat"
    assert entry.data["host"] == receiver.url.split("/")[2]
    assert "pL7k" not in str(entry.data)


def test_a_message_in_a_traceback_does_not_print_it() -> None:
    message = Message(
        delivery_id=new_id(),
        attempts=1,
        event=new_id(),
        format="chat",
        url=f"https://chat.example{SECRET}",
        body="{}",
        keys=(f"https://chat.example{SECRET}",),
        now=Any,
    )
    assert SECRET not in repr(message)


def test_it_can_be_replaced_or_left(stage: Stage, receiver: Receiver) -> None:
    chat = chatting(stage, receiver)
    settings = {**by(stage), "webhook_id": chat.webhook.id}
    change_chat(**settings, event_types=["approval.requested"])
    stage.ask()
    chat.turn()
    assert len(receiver.received) == 1
    with Receiver() as other:
        url = address_of(other)
        change_chat(**settings, event_types=["approval.requested"], url=url)
        stage.ask()
        chat.turn()
        assert (len(receiver.received), len(other.received)) == (1, 1)
    with tenant_transaction(stage.tenant_id):
        living = WebhookSecret.objects.filter(expires_at=None)
        assert living.count() == 1
    assert kinds_of(stage.tenant_id, chat.webhook.id) == [
        "webhook.created",
        "webhook.changed",
        "webhook.changed",
    ]


def test_without_the_tenants_key_nothing_is_sent(
    stage: Stage, receiver: Receiver
) -> None:
    chat = chatting(stage, receiver)
    stage.ask()
    with tenant_transaction(stage.tenant_id):
        destroy(stage.tenant_id)
    chat.turn()
    assert receiver.received == []
    assert chat.attempts()[0].code == "secret_unreadable"


def test_a_private_address_is_refused(
    stage: Stage, receiver: Receiver, settings: Any
) -> None:
    chat = chatting(stage, receiver)
    settings.ALLOW_PRIVATE = []
    stage.ask()
    chat.turn()
    assert (chat.attempts()[0].code, receiver.received) == ("address_refused", [])


def test_a_chat_is_no_webhook_that_signs_and_the_other_way_round(
    stage: Stage, receiver: Receiver
) -> None:
    chat, events = chatting(stage, receiver), Listening.to(stage, receiver)
    with refused("not_found"):
        rotate_secret(**by(stage), webhook_id=chat.webhook.id)
    with refused("not_found"):
        end_former_secrets(**by(stage), webhook_id=chat.webhook.id)
    said: dict[str, Any] = {"event_types": ["approval.decided"]}
    with refused("not_found"):
        change_webhook(
            **by(stage), webhook_id=chat.webhook.id, url=receiver.url, **said
        )
    with refused("not_found"):
        change_chat(**by(stage), webhook_id=events.webhook.id, **said)
    assert chat.now().url.endswith(SHOWN)
    assert events.now().format == Webhook.Format.EVENTS


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"url": "http://chat.example/x"}, "webhook.url_refused"),
        ({"event_types": []}, "webhook.event_types_refused"),
        ({"event_types": ["run.paused"]}, "webhook.event_types_refused"),
        ({"queue_id": new_id()}, "not_found"),
    ],
)
def test_what_can_be_no_chat(stage: Stage, said: dict[str, Any], code: str) -> None:
    usual = {"url": "https://chat.example/x", "event_types": ["approval.decided"]}
    with refused(code):
        add_chat(**by(stage), **{**usual, **said})


def test_a_queue_of_another_tenant_is_none(stage: Stage) -> None:
    with refused("not_found"):
        add_chat(
            **by(stage),
            url="https://chat.example/x",
            event_types=["approval.decided"],
            queue_id=fresh_stage().queue.id,
        )


def test_a_chats_address_is_taken_as_nothing_else(stage: Stage) -> None:
    with refused("webhook.url_refused", detail="add it as a chat"):
        create_webhook(
            **by(stage),
            url="https://hooks.slack.com/services/T0/B0/x",
            event_types=["run.paused"],
        )


def test_the_database_keeps_the_formats_apart(stage: Stage, receiver: Receiver) -> None:
    chat, events = chatting(stage, receiver), Listening.to(stage, receiver)
    for one, change in (
        (chat, {"with_arguments": True}),
        (events, {"queue_id": stage.queue.id}),
    ):
        with (
            pytest.raises(IntegrityError, match="webhook_of_its_format"),
            tenant_transaction(stage.tenant_id),
        ):
            Webhook.objects.filter(id=one.webhook.id).update(**change)


def test_a_revoked_approval_is_no_news_for_a_chat(
    stage: Stage, receiver: Receiver
) -> None:
    chat = chatting(stage, receiver)
    request = stage.answer(stage.ask())
    revoke(stage.bob.person, request_id=request.id, reason="No.")
    assert told(chat) == ["approval.requested", "approval.decided"]
