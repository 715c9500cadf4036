"""The pages of chats that are told: an address goes in, and none comes out."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from approvals.chat import USUAL
from approvals.services.queues import create_queue
from tests.approvals.stage import Stage
from tests.approvals.views.test_webhooks import open_page, text
from tests.approvals.webhooks.chatting import SECRET, SHOWN, address_of, chatting
from tests.approvals.webhooks.listening import Listening
from tests.approvals.webhooks.receiver import Receiver

KEPT = SECRET.rpartition("/")[2][:-4]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.ALLOW_PRIVATE = ["127.0.0.0/8"]
    with Receiver() as one:
        yield one


@pytest.fixture
def chat(stage: Stage, receiver: Receiver) -> Listening:
    return chatting(stage, receiver, "approval.decided")


def settings_of(receiver: Receiver, **said: Any) -> dict[str, Any]:
    usual = {"format": "chat", "url": address_of(receiver), "event_types": USUAL}
    return {**usual, **said}


def ticked(page: str) -> list[str]:
    form = page[page.index('id="chat"') :]
    return re.findall(r'name="event_types" value="([^"]+)" checked', form)


def test_adding_one_shows_no_secret(stage: Stage, receiver: Receiver) -> None:
    alice = stage.house.alice
    assert ticked(text(open_page(alice, "webhooks"))) == list(USUAL)
    said = settings_of(receiver, description="#ledger", queue_id=str(stage.queue.id))
    made = open_page(alice, "webhooks", said)
    assert made.status_code == 302
    listed = text(open_page(alice, "webhooks"))
    (href,) = re.findall(r"webhooks/[0-9a-f-]{36}", listed)
    assert made["Location"].endswith(href)
    page = text(open_page(alice, href))
    for shown in (page, listed):
        assert SHOWN in shown
        assert f"queue {stage.queue.name}" in shown
        assert KEPT not in shown
        assert "whsec_" not in shown
    assert "#ledger" in listed
    assert ticked(page) == list(USUAL)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"url": ""}, "required"),
        ({"url": f"ftp://chat.example{SECRET}"}, "begins with https://"),
        ({"event_types": ()}, "required"),
        ({"event_types": ("run.paused",)}, "not one of the available"),
        ({"queue_id": "everything"}, "valid UUID"),
    ],
)
def test_what_is_typed_wrongly_is_said_without_the_address(
    stage: Stage, receiver: Receiver, said: dict[str, Any], sentence: str
) -> None:
    answer = open_page(stage.house.alice, "webhooks", settings_of(receiver, **said))
    assert answer.status_code == 422
    assert sentence in text(answer)
    assert KEPT not in text(answer)


def test_what_is_set_can_be_changed_and_the_address_left(
    chat: Listening, stage: Stage
) -> None:
    alice, path = stage.house.alice, f"webhooks/{chat.webhook.id}"
    other = create_queue(
        tenant_id=stage.tenant_id, by=alice.id, slug="leads", name="Leads"
    )
    said = settings_of(chat.receiver, act="change", url="", queue_id=str(other.id))
    assert open_page(alice, path, said).status_code == 302
    now = chat.now()
    assert (now.queue_id, now.event_types) == (other.id, list(USUAL))
    assert now.url == chat.webhook.url
    wrong = {**said, "url": f"nowhere{SECRET}", "event_types": ("approval.expired",)}
    again = open_page(alice, path, wrong)
    assert again.status_code == 422
    assert "begins with https://" in text(again)
    assert SHOWN in text(again)
    assert KEPT not in text(again)
    assert ticked(text(again)) == ["approval.expired"]


def test_a_test_message_is_sent_and_its_tries_are_told_in_words(
    chat: Listening, stage: Stage
) -> None:
    alice, path = stage.house.alice, f"webhooks/{chat.webhook.id}"
    assert "Send a test message" in text(open_page(alice, path))
    chat.receiver.status, chat.receiver.answer = 404, b"no_service"
    assert open_page(alice, path, {"act": "ping"}).status_code == 302
    chat.turn()
    words = "404, no_service: the address was removed or switched off there"
    assert words in text(open_page(alice, path))
    (row,) = chat.deliveries()
    page = text(open_page(alice, f"deliveries/{row.id}"))
    assert words in page
    assert "What it is made of" in page
    assert KEPT not in page


def test_what_it_cannot_do_is_not_offered(chat: Listening, stage: Stage) -> None:
    alice, path = stage.house.alice, f"webhooks/{chat.webhook.id}"
    page = text(open_page(alice, path))
    assert "New secret" not in page
    assert "former secret" not in page
    assert 'name="with_arguments"' not in page
    for act in ("rotate", "end_former"):
        assert open_page(alice, path, {"act": act}).status_code == 404


def test_a_form_of_the_other_format_is_not_there(
    chat: Listening, stage: Stage, receiver: Receiver
) -> None:
    alice, events = stage.house.alice, Listening.to(stage, receiver)
    wrong = (
        (chat, {"act": "change", "url": receiver.url, "event_types": "run.paused"}),
        (chat, {"act": "change", "url": receiver.url}),
        (events, settings_of(receiver, act="change")),
        (events, settings_of(receiver, act="change", event_types=())),
    )
    for one, said in wrong:
        answer = open_page(alice, f"webhooks/{one.webhook.id}", said)
        assert answer.status_code == 404
    assert (chat.now().url, events.now().url) == (chat.webhook.url, receiver.url)


def test_what_was_over_before_it_left_is_no_failure(
    stage: Stage, receiver: Receiver
) -> None:
    alice, chat = stage.house.alice, chatting(stage, receiver, "approval.requested")
    stage.answer(stage.ask())
    assert chat.turn() == 0
    page = text(open_page(alice, f"webhooks/{chat.webhook.id}"))
    assert "Not sent: over" in page
    assert "Given up" not in page
