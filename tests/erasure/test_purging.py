"""Purging what was erased: whole, whatever is in it, and beside whatever else happens."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from approvals.models import (
    Request,
    Revision,
    VerificationReport,
    WebhookAttempt,
    WebhookDelivery,
)
from approvals.resume import purging
from approvals.resume.purging import Purged, purge_tenant
from approvals.services.erasure import erase_session, erase_subject, outdated_in
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from approvals.services.webhooks import create_webhook
from checkpoints.models import Effect
from kernel.scope import tenant_transaction
from sessions.models import Hold, Run, Session
from sessions.services.retention import place_hold, set_retention
from sessions.services.runs import start_run
from sessions.services.sessions import open_session
from tenants.models import IdempotencyRecord
from tests.api import Api
from tests.approvals.stage import Stage, fresh_stage
from tests.chain import kinds_of
from tests.checkpoints.tampering import tamper
from tests.concurrency import impatient, locked_by_another
from tests.erasure.erasing import BY, age, count, ended_session, gone
from tests.erasure.test_canaries import dump
from tests.examples.waiting import wait_until
from tests.factories import unique
from tests.refusals import refused
from tests.tenants.test_gate import gate_shared


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def test_a_hold_waits_for_whoever_may_be_erasing(stage: Stage) -> None:
    session_id = ended_session(stage)
    with impatient(), gate_shared(stage.tenant_id):
        with refused("busy", status=503):
            place_hold(
                tenant_id=stage.tenant_id,
                by=BY,
                reason="Dispute 7",
                session_id=session_id,
            )
        erase_session(tenant_id=stage.tenant_id, by=BY, session_id=session_id)
    assert count(stage, Hold) == 0


def erased(stage: Stage, request: Request) -> UUID:
    erase_session(tenant_id=stage.tenant_id, by=BY, session_id=request.session_id)
    return request.session_id


def due(stage: Stage) -> list[UUID]:
    with tenant_transaction(stage.tenant_id):
        rows = Session.objects.filter(due_at__isnull=False)
        return list(rows.values_list("id", flat=True))


def is_erased(stage: Stage, session_id: UUID) -> bool:
    with tenant_transaction(stage.tenant_id):
        return Session.objects.get(id=session_id).erased_at is not None


def test_a_session_that_is_spoilt_does_not_keep_the_others(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    spoilt, whole = stage.ask(), stage.ask()
    with tenant_transaction(stage.tenant_id):
        revision = Revision.objects.get(request=spoilt)
    tamper("approvals_revision", r"envelope = '\xff'", revision.id)
    bad, good = erased(stage, spoilt), erased(stage, whole)
    done = purge_tenant(stage.tenant_id)
    assert bad in done.deferred
    assert "purge_deferred" in caplog.text
    assert due(stage) == [bad]
    assert kinds_of(stage.tenant_id, good)[-1] == "session.purged"
    with pytest.raises(CommandError, match=str(bad)):
        call_command("purge", tenant=stage.house.tenant.slug)


SLOW = ("nestloop", "indexscan", "bitmapscan", "memoize")
"""Without them the database reads whole tables, and joins afterwards."""


@contextmanager
def whole_tables() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("DISCARD PLANS")
        for one in SLOW:
            cursor.execute(f"SET enable_{one} = off")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for one in SLOW:
                cursor.execute(f"RESET enable_{one}")


def acted(stage: Stage) -> tuple[Request, dict[str, Any]]:
    """And how to report of it: the action failed."""
    request, who = stage.ask(), stage.house.robot.principal
    stage.answer(request)
    with tenant_transaction(stage.tenant_id):
        fence = Run.objects.get(id=request.run_id).fence
    started = redeem(who, request_id=request.id, fence=fence)
    said: dict[str, Any] = {"effect_id": started.effect.id, "fence": started.fence}
    report_effect(who, **said, attempt=1, outcome="failed")
    return request, said


@pytest.mark.parametrize(
    ("table", "column"),
    [("approvals_revision", "envelope"), ("checkpoints_effect", "action")],
)
def test_what_is_spoilt_is_not_read_for_another(
    stage: Stage, table: str, column: str
) -> None:
    (spoilt, _), (whole, _) = acted(stage), acted(stage)
    model = {"envelope": Revision, "action": Effect}[column]
    with tenant_transaction(stage.tenant_id):
        row = model.objects.get(request=spoilt.id)
    tamper(table, rf"{column} = '\xff'", row.id)
    bad, good = erased(stage, spoilt), erased(stage, whole)
    with whole_tables():
        assert purge_tenant(stage.tenant_id).deferred == {bad}
    assert good not in due(stage)


def test_a_session_that_somebody_holds_does_not_keep_the_others(stage: Stage) -> None:
    busy, free = ended_session(stage), ended_session(stage)
    for one in (busy, free):
        age(stage, one, 31)
    set_retention(tenant_id=stage.tenant_id, by=BY, days=30)
    with impatient(), locked_by_another("agent_sessions_session", f"id = '{busy}'"):
        done = purge_tenant(stage.tenant_id)
        assert busy in done.deferred
        wait_until(lambda: purge_tenant(stage.tenant_id) and is_erased(stage, free))
        assert not is_erased(stage, busy)
    wait_until(lambda: purge_tenant(stage.tenant_id) and is_erased(stage, busy))


def test_ones_that_cannot_go_do_not_keep_those_behind_them(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: here one fills all that is looked at in one go."""
    busy, free = ended_session(stage), ended_session(stage)
    assert busy < free  # ids rise with time, and the oldest is looked at first
    for one in (busy, free):
        age(stage, one, 31)
    set_retention(tenant_id=stage.tenant_id, by=BY, days=30)
    monkeypatch.setattr(purging, "outdated_in", partial(outdated_in, most=1))
    with impatient(), locked_by_another("agent_sessions_session", f"id = '{busy}'"):
        wait_until(
            lambda: purge_tenant(stage.tenant_id, steps=1) and is_erased(stage, free)
        )
        assert not is_erased(stage, busy)


def answers(stage: Stage) -> int:
    with tenant_transaction(stage.tenant_id):
        return IdempotencyRecord.objects.count()


def test_a_tenant_that_is_busy_does_not_keep_the_others(stage: Stage) -> None:
    other = fresh_stage()
    for one in (stage, other):
        Api.of(one.house.robot).post("sessions", {"subject": "c"}, Idempotency_Key="k")
        with tenant_transaction(one.tenant_id):
            kept = IdempotencyRecord.objects.get()
        past = "created_at = created_at - interval '8 days'"
        tamper("tenants_idempotencyrecord", past, kept.id)
    total, mine = Purged(), f"tenant_id = '{stage.tenant_id}'"
    with impatient(), locked_by_another("audit_head", mine):
        for one in (stage, other):
            total.add(purge_tenant(one.tenant_id))
        assert stage.tenant_id in total.deferred
        wait_until(lambda: purge_tenant(other.tenant_id) and not answers(other))
        assert answers(stage)


def test_a_word_that_an_agent_wrote_does_not_pass_for_erased(stage: Stage) -> None:
    word, who = f"pii{unique()}", stage.house.robot.principal
    session = open_session(who=who, subject="[erased]")
    run, _ = start_run(who=who, session_id=session.id)
    stage.ask(run, arguments={"payee": word, "amount": "1.00"})
    gone(stage, session.id, word)


def test_a_title_that_says_erased_does_not_pass_for_it() -> None:
    stage, word = fresh_stage(title="{payee}"), f"pii{unique()}"
    arguments = {"payee": "[erased]", "amount": "1.00"}
    request = stage.ask(arguments=arguments, explanation=word)
    assert request.title == "[erased]"
    gone(stage, request.session_id, word)


def test_a_report_without_checks_has_a_reason_all_the_same(stage: Stage) -> None:
    word, request = f"pii{unique()}", stage.ask()
    stage.answer(request)
    with tenant_transaction(stage.tenant_id):
        fence = Run.objects.get(id=request.run_id).fence
    redeem(stage.house.robot.principal, request_id=request.id, fence=fence)
    with tenant_transaction(stage.tenant_id):
        report = VerificationReport.objects.get(request=request)
        effect = Effect.objects.get(request=request.id)
    said = f"checks = '[]', reason = '{word}'"
    tamper("approvals_verificationreport", said, report.id)
    tamper("checkpoints_effect", "state = 'failed'", effect.id)
    gone(stage, request.session_id, word)


def test_an_envelope_of_another_shape_is_not_purged_for_ever(stage: Stage) -> None:
    word, asked = f"pii{unique()}", [stage.ask() for _ in range(2)]
    for request, spoilt in zip(
        asked, (f'["{word}"]', f'{{"a": "{word}"}}'), strict=True
    ):
        with tenant_transaction(stage.tenant_id):
            revision = Revision.objects.get(request=request)
        as_bytes = f"envelope = convert_to('{spoilt}', 'UTF8'), reason = '{word}'"
        tamper("approvals_revision", as_bytes, revision.id)
        erased(stage, request)
    assert purge_tenant(stage.tenant_id).deferred == set()
    with tenant_transaction(stage.tenant_id):
        assert not Revision.objects.exclude(reason="").exists()
        assert not Session.objects.filter(due_at__isnull=False).exists()


def test_messages_about_it_go_and_those_about_others_stay(stage: Stage) -> None:
    create_webhook(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        url="https://hooks.example.test",
        event_types=["approval.requested", "run.cancelled"],
        with_arguments=True,
    )
    word, other = f"pii{unique()}", stage.run()
    request = stage.ask(arguments={"payee": word, "amount": "1.00"})
    # Its body has the erased session's id in it, and is about another one.
    stage.ask(other, arguments={"payee": str(request.session_id), "amount": "1.00"})
    with tenant_transaction(stage.tenant_id):
        mine = WebhookDelivery.objects.get(body__contains=word)
        WebhookAttempt.objects.create(
            tenant_id=stage.tenant_id, delivery=mine, status=500, milliseconds=1
        )
    gone(stage, request.session_id, word)
    assert count(stage, WebhookAttempt) == 0
    with tenant_transaction(stage.tenant_id):
        (left,) = WebhookDelivery.objects.all()
        assert json.loads(left.body)["data"]["session"] == str(other.session_id)
    assert kinds_of(stage.tenant_id, request.session_id).count("session.purged") == 1


def test_what_was_erased_already_does_not_keep_the_rest_of_a_subject(
    stage: Stage,
) -> None:
    """An erased session serves "[erased]", and so may one that an agent opens."""
    gone_before, later = (ended_session(stage, subject="[erased]") for _ in range(2))
    erase_session(tenant_id=stage.tenant_id, by=BY, session_id=gone_before)
    done = erase_subject(tenant_id=stage.tenant_id, by=BY, subject="[erased]")
    assert done == [later]
    assert kinds_of(stage.tenant_id, later)[-1] == "session.erased"
    assert kinds_of(stage.tenant_id, gone_before).count("session.erased") == 1


def test_a_late_report_adds_nothing_to_what_was_erased(stage: Stage) -> None:
    word, (request, said) = f"pii{unique()}", acted(stage)
    erased(stage, request)
    purge_tenant(stage.tenant_id)
    with refused("data_erased", status=410):
        report_effect(
            stage.house.robot.principal,
            **said,
            attempt=1,
            outcome="confirmed",
            evidence={"to": word},
        )
    assert word not in dump()
