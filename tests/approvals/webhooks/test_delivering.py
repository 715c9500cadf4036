"""Delivering: at least once, signed, and no longer than anybody listens."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from standardwebhooks import WebhookVerificationError

from approvals.models import WebhookDelivery
from approvals.resume import delivering
from approvals.resume.sweep import SWEEPS, sweep
from approvals.services.webhooks import (
    end_former_secrets,
    replay_delivery,
    rotate_secret,
    switch_webhook,
)
from approvals.webhooks import OVERLAP, PAUSES
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.vault import destroy
from tests.approvals.stage import Stage
from tests.approvals.webhooks.listening import Listening
from tests.approvals.webhooks.receiver import Receiver
from tests.chain import kinds_of
from tests.checkpoints.tampering import superuser_says
from tests.examples.waiting import wait_until

State = WebhookDelivery.State
HOUR = timedelta(hours=1)


def states(listening: Listening) -> list[str]:
    return [one.state for one in listening.deliveries()]


def by(listening: Listening) -> dict[str, Any]:
    stage = listening.stage
    return {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}


def test_one_turn_delivers_all_that_is_due(listening: Listening) -> None:
    listening.stage.answer(listening.stage.ask())
    assert listening.turn() == 3
    assert states(listening) == [State.DELIVERED] * 3
    assert set(listening.receiver.types) == {
        "approval.requested",
        "run.paused",
        "approval.decided",
    }
    for one in listening.receiver.received:
        assert one.verified(listening.secret) == one.told
        assert one.id == one.told["id"]
        assert one.headers["content-type"] == "application/json"
    assert listening.turn() == 0


def test_a_message_with_another_byte_is_not_verified(listening: Listening) -> None:
    listening.stage.ask()
    listening.turn()
    one = listening.receiver.received[0]
    forged = type(one)(one.path, one.headers, one.body.replace(b"pending", b"granted"))
    with pytest.raises(WebhookVerificationError):
        forged.verified(listening.secret)


def test_a_receiver_that_is_down_gets_everything_later(listening: Listening) -> None:
    """Down for an hour, in which it is asked seldom, and in which nothing is lost."""
    receiver = listening.receiver
    receiver.status = 500
    listening.stage.answer(listening.stage.ask())
    for _ in range(60):
        listening.turn()
        listening.let_pass(timedelta(minutes=1))
    asked = len(receiver.received)
    # Three messages, each with attempts after 5 s, 30 s, 2 and 10 minutes, at most.
    assert 3 <= asked <= 3 * 6
    assert states(listening) == [State.QUEUED] * 3
    receiver.status = 204
    listening.let_pass(2 * HOUR)
    while listening.turn():
        listening.let_pass(2 * HOUR)
    assert states(listening) == [State.DELIVERED] * 3
    assert {one.id for one in receiver.received[asked:]} == {
        str(one.event) for one in listening.deliveries()
    }
    assert listening.now().failures == 0


def test_a_message_that_is_erased_while_it_is_sent_holds_nothing_up(
    stage: Stage, receiver: Receiver
) -> None:
    listening = Listening.to(stage, receiver, "approval.requested")
    first, second = stage.ask(), stage.ask()
    receiver.answering.clear()
    with ThreadPoolExecutor(1) as pool:
        turn = pool.submit(in_thread, listening.turn)
        wait_until(lambda: receiver.received or turn.done())
        sent = receiver.received[0].told["data"]
        assert sent["session"] == str(first.session_id)
        superuser_says(
            "delete from approvals_webhookdelivery"
            f" where event = '{receiver.received[0].id}'"
        )
        receiver.answering.set()
        assert turn.result(timeout=30) == 2
    assert receiver.received[-1].told["data"]["session"] == str(second.session_id)
    assert states(listening) == [State.DELIVERED]
    assert len(listening.attempts()) == 1


def in_thread(act: Callable[[], int]) -> int:
    try:
        return act()
    finally:
        connection.close()


def test_after_the_last_attempt_a_message_is_dead_and_may_be_replayed(
    stage: Stage, receiver: Receiver
) -> None:
    listening = Listening.to(stage, receiver, "approval.requested")
    receiver.status = 503
    stage.ask()
    for _ in range(len(PAUSES) + 3):
        listening.turn()
        listening.let_pass(timedelta(days=2))
    (dead,) = listening.deliveries()
    assert (dead.state, dead.attempts) == (State.DEAD, len(PAUSES) + 1)
    assert len(receiver.received) == len(PAUSES) + 1
    assert "webhook.given_up" in kinds_of(stage.tenant_id, dead.id)

    receiver.status = 204
    replay_delivery(**by(listening), delivery_id=dead.id)
    listening.turn()
    first, last = receiver.received[0], receiver.received[-1]
    assert (first.id, first.body) == (last.id, last.body)
    assert states(listening) == [State.DELIVERED]
    assert listening.attempts()[-1].status == 204


def test_a_message_that_waits_is_not_replayed(listening: Listening) -> None:
    listening.stage.ask()
    with pytest.raises(Problem) as refused:
        replay_delivery(**by(listening), delivery_id=listening.deliveries()[0].id)
    assert refused.value.code == "webhook.still_queued"


def test_a_slow_receiver_is_given_up_on_and_left_alone(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "ANSWER_WITHIN", 0.3)
    receiver = listening.receiver
    receiver.answering.clear()
    listening.stage.ask()
    assert listening.turn() == 1  # not one for each message that waits
    (tried,) = listening.attempts()
    assert (tried.status, tried.code) == (None, "timeout")
    assert listening.turn() == 0  # it rests
    receiver.answering.set()
    listening.let_pass(HOUR)
    assert listening.turn() == 2
    assert states(listening) == [State.DELIVERED] * 2


def test_one_worker_at_a_time_delivers_to_an_address(listening: Listening) -> None:
    receiver = listening.receiver
    listening.stage.ask()
    one, other = (each.id for each in listening.deliveries())
    receiver.answering.clear()
    first = threading.Thread(target=listening.turn, args=(one,))
    first.start()
    wait_until(lambda: len(receiver.received) == 1)
    assert listening.turn(other) == 0
    receiver.answering.set()
    first.join(timeout=30)
    listening.let_pass(HOUR)
    listening.turn()
    assert len(receiver.received) == 2
    assert states(listening) == [State.DELIVERED] * 2


def test_whoever_died_while_delivering_holds_nobody_up(listening: Listening) -> None:
    listening.stage.ask()
    due = listening.deliveries()[0]
    claimed = delivering.perform(
        listening.stage.tenant_id, lambda verb: delivering._claim(verb, due.id)
    )
    assert claimed is not None
    assert listening.turn() == 0
    listening.let_pass(delivering.CLAIM)
    assert listening.turn(due.id) == 2


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(
    stage: Stage, receiver: Receiver, status: int
) -> None:
    listening = Listening.to(stage, receiver, "approval.requested")
    with Receiver() as elsewhere:
        receiver.status = status
        receiver.headers = {"Location": elsewhere.url}
        stage.ask()
        listening.turn()
        assert elsewhere.received == []
    assert listening.attempts()[0].code == f"status_{status}"
    assert states(listening) == [State.QUEUED]


def test_a_private_address_is_refused(
    stage: Stage, receiver: Receiver, settings: Any
) -> None:
    listening = Listening.to(stage, receiver, "approval.requested")
    settings.ALLOW_PRIVATE = []
    stage.ask()
    listening.turn()
    assert (listening.attempts()[0].code, receiver.received) == ("address_refused", [])
    assert states(listening) == [State.QUEUED]


def test_whoever_is_gone_is_told_no_more(listening: Listening) -> None:
    listening.receiver.status = 410
    listening.stage.ask()
    listening.turn()
    webhook = listening.now()
    assert not webhook.enabled
    assert "410" in webhook.why_disabled
    assert "webhook.disabled" in kinds_of(listening.stage.tenant_id, webhook.id)
    listening.let_pass(HOUR)
    listening.turn()
    assert states(listening) == [State.DEAD] * 2
    assert len(listening.receiver.received) == 1


def test_a_receiver_may_ask_for_more_time(stage: Stage, receiver: Receiver) -> None:
    listening = Listening.to(stage, receiver, "approval.requested")
    receiver.status, receiver.headers = 429, {"Retry-After": "900"}
    stage.ask()
    listening.turn()
    listening.let_pass(timedelta(seconds=890))
    assert listening.turn() == 0
    listening.let_pass(timedelta(seconds=20))
    assert listening.turn() == 1


def test_after_a_rotation_both_secrets_sign_for_a_day(listening: Listening) -> None:
    stage, receiver = listening.stage, listening.receiver
    fresh = rotate_secret(**by(listening), webhook_id=listening.webhook.id).secret
    stage.ask()
    listening.turn()
    one = receiver.received[-1]
    assert len(one.headers["webhook-signature"].split(" ")) == 2
    assert one.verified(listening.secret) == one.verified(fresh)

    let_secrets_pass(listening, OVERLAP)
    stage.ask()
    listening.turn()
    one = receiver.received[-1]
    one.verified(fresh)
    with pytest.raises(WebhookVerificationError):
        one.verified(listening.secret)


def test_a_leaked_secret_is_ended_at_once(listening: Listening) -> None:
    fresh = rotate_secret(**by(listening), webhook_id=listening.webhook.id).secret
    end_former_secrets(**by(listening), webhook_id=listening.webhook.id)
    listening.stage.ask()
    listening.turn()
    one = listening.receiver.received[-1]
    one.verified(fresh)
    with pytest.raises(WebhookVerificationError):
        one.verified(listening.secret)


def test_nothing_is_sent_unsigned(listening: Listening) -> None:
    """The tenant's key was destroyed: nobody can open the secret any more."""
    listening.stage.ask()
    with tenant_transaction(listening.stage.tenant_id):
        destroy(listening.stage.tenant_id)
    listening.turn()
    assert listening.receiver.received == []
    assert listening.attempts()[0].code == "secret_unreadable"


def test_what_waited_when_it_was_switched_off_stays_on_record(
    listening: Listening,
) -> None:
    listening.stage.ask()
    switch_webhook(**by(listening), webhook_id=listening.webhook.id, enabled=False)
    assert listening.turn() == 0
    assert states(listening) == [State.DEAD] * 2
    with pytest.raises(Problem) as refused:
        replay_delivery(**by(listening), delivery_id=listening.deliveries()[0].id)
    assert refused.value.code == "webhook.disabled"


def test_a_sweep_finds_what_the_broker_lost(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[object] = []
    monkeypatch.setattr("approvals.resume.sweep.publish_delivery", published.append)
    for other in set(SWEEPS) - {"deliveries"}:
        monkeypatch.delitem(SWEEPS, other)
    listening.stage.ask()
    listening.let_pass(timedelta(seconds=5))
    sweep()
    assert {one.id for one in listening.deliveries()} <= set(published)


def test_nobody_is_told_whose_a_message_is_that_does_not_exist() -> None:
    from kernel.ids import new_id

    assert delivering.deliver(new_id()) == 0


def let_secrets_pass(listening: Listening, passed: timedelta) -> None:
    from django.db.models import F

    from approvals.models import WebhookSecret
    from kernel.scope import tenant_transaction

    with tenant_transaction(listening.stage.tenant_id):
        rows = WebhookSecret.objects.filter(expires_at__isnull=False)
        rows.update(expires_at=F("expires_at") - passed)
