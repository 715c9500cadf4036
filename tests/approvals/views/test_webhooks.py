"""The pages of webhooks: for administrators, with the secret shown once."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import WebhookDelivery
from approvals.resume.delivering import deliver
from kernel.scope import tenant_transaction
from tenants.models import Role
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.webhooks.listening import Listening
from tests.approvals.webhooks.receiver import Receiver
from tests.factories import Somebody, fresh_member


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.ALLOW_PRIVATE = ["127.0.0.0/8"]
    with Receiver() as one:
        yield one


@pytest.fixture
def listening(stage: Stage, receiver: Receiver) -> Listening:
    return Listening.to(stage, receiver)


def open_page(who: Somebody, path: str, data: dict[str, Any] | None = None) -> Any:
    client = Client()
    client.force_login(who.user)
    url = f"/t/{who.slug}/{path}"
    return client.get(url) if data is None else client.post(url, data)


def text(answer: Any) -> str:
    return unescape(answer.content.decode())


def settings_of(receiver: Receiver, *types: str, **more: str) -> dict[str, Any]:
    return {"url": receiver.url, "event_types": types or ("run.paused",), **more}


def test_adding_one_shows_its_secret_once(stage: Stage, receiver: Receiver) -> None:
    alice = stage.house.alice
    assert "Nobody outside is told" in text(open_page(alice, "webhooks"))
    made = open_page(alice, "webhooks", settings_of(receiver, description="Ledger"))
    (secret,) = set(re.findall(r"whsec_[A-Za-z0-9+/=]+", text(made)))
    listed = text(open_page(alice, "webhooks"))
    assert receiver.url in listed
    assert "Ledger" in listed
    href = re.search(r"/webhooks/[0-9a-f-]{36}", listed)
    assert href
    assert "whsec_" not in text(open_page(alice, href[0].lstrip("/")))
    stage.ask()
    with tenant_transaction(stage.tenant_id):
        delivery = WebhookDelivery.objects.get()
    deliver(delivery.id)
    receiver.received[0].verified(secret)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"url": "http://a@b/"}, "names a host and a path"),
        ({"url": "ftp://a.example/"}, "begins with https://"),
        ({"event_types": ()}, "required"),
        ({"event_types": ("nothing.happened",)}, "not one of the available"),
    ],
)
def test_what_is_typed_wrongly_is_said(
    stage: Stage, receiver: Receiver, said: dict[str, Any], sentence: str
) -> None:
    answer = open_page(stage.house.alice, "webhooks", {**settings_of(receiver), **said})
    assert answer.status_code == 422
    assert sentence in text(answer)
    assert "whsec_" not in text(answer)


def test_what_is_set_can_be_changed(listening: Listening) -> None:
    alice, path = listening.stage.house.alice, f"webhooks/{listening.webhook.id}"
    with Receiver() as other:
        said = settings_of(other, "run.completed", act="change", with_arguments="on")
        assert open_page(alice, path, said).status_code == 302
        now = listening.now()
        assert (now.url, now.event_types) == (other.url, ["run.completed"])
        assert now.with_arguments
        assert open_page(alice, path, {**said, "url": "nowhere"}).status_code == 422


def test_it_can_be_pinged_switched_off_and_on(listening: Listening) -> None:
    alice, path = listening.stage.house.alice, f"webhooks/{listening.webhook.id}"
    assert open_page(alice, path, {"act": "ping"}).status_code == 302
    listening.turn()
    assert listening.receiver.types == ["webhook.ping"]
    assert "webhook.ping" in text(open_page(alice, path))
    open_page(alice, path, {"act": "disable"})
    assert not listening.now().enabled
    refused = open_page(alice, path, {"act": "ping"})
    assert (refused.status_code, "webhook.disabled" in text(refused)) == (409, True)
    open_page(alice, path, {"act": "enable"})
    assert listening.now().enabled


def test_a_new_secret_is_shown_and_the_former_one_ended(listening: Listening) -> None:
    alice, path = listening.stage.house.alice, f"webhooks/{listening.webhook.id}"
    shown = text(open_page(alice, path, {"act": "rotate"}))
    assert "whsec_" in shown
    assert "A former secret signs too until" in shown
    open_page(alice, path, {"act": "end_former"})
    assert "A former secret signs too" not in text(open_page(alice, path))


def test_a_message_shows_its_tries_and_is_sent_again(listening: Listening) -> None:
    alice, receiver = listening.stage.house.alice, listening.receiver
    listening.stage.ask()
    waiting, _ = listening.deliveries()
    path = f"deliveries/{waiting.id}"
    early = open_page(alice, path, {})
    assert (early.status_code, "still_queued" in text(early)) == (409, True)
    listening.turn()
    page = text(open_page(alice, path))
    assert waiting.body in page
    assert "204" in page
    assert open_page(alice, path, {}).status_code == 302
    listening.turn()
    assert [one.id for one in receiver.received].count(str(waiting.event)) == 2


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.AUDITOR, Role.DEVELOPER])
def test_only_administrators_look(listening: Listening, role: Role) -> None:
    listening.stage.ask()
    somebody = fresh_member(listening.stage.house.alice, "Dora", role=role)
    for path in paths(listening):
        assert open_page(somebody, path).status_code == 403
        assert open_page(somebody, path, {"act": "disable"}).status_code == 403
    assert listening.now().enabled


def test_another_tenants_are_not_there(listening: Listening) -> None:
    listening.stage.ask()
    other = fresh_stage().house.alice
    for path in paths(listening)[1:]:
        assert open_page(other, path).status_code == 404
        for act in ("disable", "rotate", "ping", "end_former", "sing"):
            assert open_page(other, path, {"act": act}).status_code == 404
    assert listening.now().enabled
    assert listening.receiver.url not in text(open_page(other, "webhooks"))


def paths(listening: Listening) -> list[str]:
    delivery = listening.deliveries()[0]
    return [
        "webhooks",
        f"webhooks/{listening.webhook.id}",
        f"deliveries/{delivery.id}",
    ]


def test_many_cost_no_more_statements_than_one(
    stage: Stage, receiver: Receiver
) -> None:
    listening = Listening.to(stage, receiver)
    stage.ask()
    few = statements(listening)
    for _ in range(3):
        Listening.to(stage, receiver)
        stage.ask()
    assert statements(listening) == few


def statements(listening: Listening) -> list[int]:
    found = []
    for path in paths(listening):
        with CaptureQueriesContext(connection) as captured:
            open_page(listening.stage.house.alice, path)
        found.append(len(captured))
    return found
