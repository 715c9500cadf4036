"""Chats: what comes back, and that their address is nobody's to read."""

from datetime import timedelta
from typing import Any

import pytest
import structlog
from django.db import IntegrityError

from approvals.models import Webhook, WebhookDelivery, WebhookSecret
from approvals.resume.delivering import Message
from approvals.services.chats import add_chat, change_chat
from approvals.services.webhooks import (
    change_webhook,
    create_webhook,
    end_former_secrets,
    rotate_secret,
)
from audit.models import Entry
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tenants.vault import destroy
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.webhooks.chatting import (
    SECRET,
    SHOWN,
    address_of,
    chatting,
)
from tests.approvals.webhooks.listening import Listening
from tests.approvals.webhooks.receiver import Receiver
from tests.chain import kinds_of
from tests.erasure.test_canaries import dump
from tests.refusals import refused

State = WebhookDelivery.State


def states(chat: Listening) -> list[str]:
    return [one.state for one in chat.deliveries()]


def by(stage: Stage) -> dict[str, Any]:
    return {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}


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


@pytest.mark.parametrize("host", ["hooks.slack.com", "HOOKS.slack.com."])
def test_a_chats_address_is_taken_as_nothing_else(stage: Stage, host: str) -> None:
    with refused("webhook.url_refused", detail="add it as a chat"):
        create_webhook(
            **by(stage),
            url=f"https://{host}/services/T0/B0/x",
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
