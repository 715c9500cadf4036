"""The audit log in the browser: found, verified, taken away."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

import audit
from audit.anchors import anchor
from audit.browsing import Wanted, entries
from audit.models import Entry
from kernel.clock import database_now
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from oversight import tasks
from oversight.models import Verification
from oversight.services.verifying import SILENCE, ask_verification, carry_out
from tenants.models import Role
from tenants.verbs import perform
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.audit.conftest import superuser as superuser
from tests.examples.waiting import wait_until
from tests.factories import Somebody, fresh_member
from tests.refusals import refused

OFFLINE = Path(audit.__file__).parent / "offline" / "verify_export.py"


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def shown(who: Reader, query: str = "") -> Any:
    answer = who.get(f"audit{query}")
    assert answer.status_code == 200
    return answer.context["audit"]


def record(stage: Stage, kind: str, **data: Any) -> UUID:
    """An entry of the person's own, about something new; returns that."""
    about = new_id()

    def work(verb: Any) -> None:
        actor = stage.bob.person.actor
        verb.record(kind, actor=actor, subject=("thing", about), data=data)

    perform(stage.tenant_id, work)
    return about


def test_the_newest_entries_come_first_with_who_did_what(
    stage: Stage, alice: Reader
) -> None:
    request = stage.ask()
    stage.answer(request)
    view = shown(alice)
    numbers = [row.seq for row in view.rows]
    assert numbers == sorted(numbers, reverse=True)
    assert view.entries == numbers[0]
    decided = next(row for row in view.rows if row.kind == "decision.recorded")
    assert decided.actor == str(stage.bob.user)
    asked = next(row for row in view.rows if row.kind == "request.asked")
    assert asked.actor == stage.house.robot.agent.name
    assert asked.subject_href.endswith(f"/queue/{request.id}")


def test_pages_meet_without_a_gap_however_the_log_grows(
    stage: Stage, alice: Reader
) -> None:
    for number in range(60):
        record(stage, "thing.done", number=number)
    first = shown(alice)
    record(stage, "thing.done", number=60)  # which the next page does not shift
    query = first.pages.next_href.partition("?")[2]
    second = shown(alice, f"?{query}")
    assert first.rows[-1].seq == second.rows[0].seq + 1
    assert second.pages.previous_href.endswith("/audit")


def test_a_filter_finds_by_kind_actor_subject_and_day(
    stage: Stage, alice: Reader
) -> None:
    first = database_now().date().isoformat()
    about = record(stage, "thing.done")
    record(stage, "thing.undone")
    last = database_now().date().isoformat()  # another day at midnight alone
    whole = f"?kind=thing.done&actor={stage.bob.id}&subject={about}"
    (row,) = shown(alice, f"{whole}&since={first}&until={last}").rows
    assert (row.kind, row.subject[:5]) == ("thing.done", "thing")
    for none in (
        "?kind=thing.nothing",
        f"?actor={new_id()}",
        f"?subject={new_id()}",
        "?until=2020-01-01",
        "?since=2999-01-01",
    ):
        view = shown(alice, none)
        assert (view.rows, bool(view.empty)) == ((), True), none
    assert {one.text for one in view.kinds} >= {"thing.done", "thing.undone"}


@pytest.mark.parametrize(
    ("field", "typed"),
    [("subject", "x"), ("since", "30.11.2026"), ("until", "2026-02-31")],
)
def test_a_filter_that_is_wrong_says_where_and_shows_nothing(
    alice: Reader, field: str, typed: str
) -> None:
    answer = alice.get(f"audit?{field}={typed}")
    assert answer.status_code == 422
    view = answer.context["audit"]
    assert (view.rows, list(view.errors), view.typed[field]) == ((), [field], typed)
    assert f'id="{field}-error"' in answer.content.decode()


@pytest.mark.parametrize("field", ["kind", "actor"])
def test_a_null_character_in_a_filter_finds_nothing_else(
    stage: Stage, alice: Reader, field: str
) -> None:
    record(stage, "thing.done")
    view = shown(alice, f"?{field}=%00nobody%00")
    assert (view.rows, view.typed[field]) == ((), "nobody")
    answer, body = exported(stage, form="ndjson", **{field: "\0nobody"})
    assert (answer.status_code, body) == (200, b"")


def test_hostile_data_is_inert(stage: Stage, alice: Reader) -> None:
    record(stage, "thing.done", said="<script>alert(1)</script>\u202egpj.exe")
    html = alice.get("audit").content.decode()
    assert "<script>alert" not in html
    assert "\u202e" not in html


def test_only_those_who_oversee_read_it(stage: Stage) -> None:
    guest = fresh_member(stage.house.alice, "Gwen", role=Role.DEVELOPER)
    for who in (stage.bob, guest):
        client = reader(stage, who)
        assert client.get("audit").status_code == 403
        assert client.post("audit/verify", {}).status_code == 403
        assert client.post("audit/export", {"form": "csv"}).status_code == 403
    auditor = fresh_member(stage.house.alice, "Aud", role=Role.AUDITOR)
    assert reader(stage, auditor).get("audit").status_code == 200


def asked(who: Somebody) -> Verification:
    return ask_verification(who.person, begin=lambda *_: None)


def test_the_newest_anchors_are_shown_and_no_signature_is_looked_at_for_it(
    stage: Stage, alice: Reader, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    record(stage, "thing.done")
    anchor()
    settings.AUDIT_KEY = tmp_path / "none.pem"
    view = shown(alice)
    assert [one.seq for one in view.anchors] == [view.rows[0].seq]


def test_one_verification_runs_at_a_time_and_finds_it_whole(
    stage: Stage, alice: Reader
) -> None:
    assert shown(alice).verification.state == ""
    assert alice.post("audit/verify", {}).status_code == 303
    first = asked(stage.house.alice)
    assert asked(stage.house.alice).id == first.id
    assert shown(alice).verification.state == "waiting"
    carry_out(stage.tenant_id, first.id)
    box = shown(alice).verification
    assert (box.state, box.percent, box.asked_by) == (
        "intact",
        100,
        str(stage.house.alice.user),
    )
    carry_out(stage.tenant_id, first.id)  # a message that came twice
    with tenant_transaction(stage.tenant_id):
        kinds = Entry.objects.filter(subject_id=first.id).values_list("kind", flat=True)
        assert sorted(kinds) == ["audit.verification_asked", "audit.verified"]


def test_a_rewritten_entry_is_named(
    stage: Stage, alice: Reader, superuser: Any
) -> None:
    record(stage, "thing.done")
    seq = shown(alice).rows[0].seq
    superuser.change(stage.tenant_id, seq, actor_id=str(new_id()))
    carry_out(stage.tenant_id, asked(stage.house.alice).id)
    box = shown(alice).verification
    assert box.state == "broken"
    assert f"entry {seq}" in box.flaw
    (top, *_) = shown(alice, f"?{box.flaw_href.partition('?')[2]}").rows
    assert top.seq == seq


def test_whoever_went_silent_is_given_up_and_another_may_be_asked(
    stage: Stage, alice: Reader
) -> None:
    lost = asked(stage.house.alice)
    with tenant_transaction(stage.tenant_id):
        heard = database_now() - SILENCE * 2
        Verification.objects.filter(id=lost.id).update(heard_at=heard)
    assert shown(alice).verification.state == "lost"
    assert asked(stage.house.alice).id != lost.id
    carry_out(stage.tenant_id, lost.id)  # too late: nobody waits for it
    with tenant_transaction(stage.tenant_id):
        assert Verification.objects.get(id=lost.id).state == "lost"


def test_what_waits_its_turn_in_a_process_is_not_lost(
    stage: Stage, alice: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "WORD", 0.01)
    waiting = asked(stage.house.alice)
    with tenant_transaction(stage.tenant_id):
        heard = database_now() - SILENCE * 2
        Verification.objects.filter(id=waiting.id).update(heard_at=heard)
    with tasks._verifying:  # another one is under way
        thread = Thread(target=tasks._verify, args=(stage.tenant_id, waiting.id))
        thread.start()
        wait_until(lambda: shown(alice).verification.state == "waiting")
    thread.join()
    assert shown(alice).verification.state == "intact"


def test_nobody_asks_who_may_not(stage: Stage) -> None:
    with refused("not_permitted"):
        asked(stage.bob)


def exported(stage: Stage, **said: str) -> tuple[Any, bytes]:
    async def take() -> tuple[Any, bytes]:
        client = AsyncClient()
        await client.aforce_login(stage.house.alice.user)
        path = f"/t/{stage.house.tenant.slug}/audit/export"
        answer = await client.post(path, said)
        if not answer.streaming:
            return answer, b""
        body = [chunk async for chunk in answer.streaming_content]  # type: ignore[attr-defined]
        return answer, b"".join(body)

    return async_to_sync(take)()


def test_the_bundle_is_checked_without_django(stage: Stage, tmp_path: Path) -> None:
    record(stage, "thing.done")
    _, body = exported(stage, form="bundle")
    file = tmp_path / "bundle.ndjson"
    file.write_bytes(body)
    checked = subprocess.run([sys.executable, "-I", str(OFFLINE), str(file)])
    assert checked.returncode == 0


def test_a_table_holds_what_the_filter_shows_and_no_formula(stage: Stage) -> None:
    about = record(stage, "=cmd|calc", amount="10.00")
    answer, body = exported(stage, form="csv", subject=str(about))
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    (row,) = csv.DictReader(io.StringIO(body.decode()))
    assert row["kind"] == "'=cmd|calc"
    assert row["actor"] == str(stage.bob.user)
    assert json.loads(row["data"]) == {"amount": "10.00"}


def test_lines_for_programs_and_who_took_them(stage: Stage, alice: Reader) -> None:
    for number in range(3):
        record(stage, "thing.done", number=number)
    _, body = exported(stage, form="ndjson", kind="thing.done")
    said = [json.loads(json.loads(line)["data"]) for line in body.splitlines()]
    assert said == [{"number": 2}, {"number": 1}, {"number": 0}]
    row = next(row for row in shown(alice).rows if row.kind == "audit.exported")
    assert row.actor == str(stage.house.alice.user)
    assert json.loads(row.said) == {"form": "ndjson", "asked": {"kind": "thing.done"}}


@pytest.mark.parametrize("said", [{"form": "xml"}, {"form": "csv", "subject": "x"}])
def test_nothing_is_exported_for_a_filter_that_is_wrong(
    stage: Stage, said: dict[str, str]
) -> None:
    answer, _ = exported(stage, **said)
    assert answer.status_code == 302
    with tenant_transaction(stage.tenant_id):
        assert not Entry.objects.filter(kind="audit.exported").exists()


def test_another_tenants_entries_are_nowhere(stage: Stage, alice: Reader) -> None:
    other = fresh_stage()
    about = record(other, "thing.done")
    assert shown(alice, f"?subject={about}").rows == ()
    with tenant_transaction(stage.tenant_id):
        assert not entries(other.tenant_id, Wanted()).exists()
