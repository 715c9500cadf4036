"""Restoring: what is found, in whose words, and that each time is on record."""

import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from checkpoints import queries
from checkpoints.checkpoint import seal
from checkpoints.models import Checkpoint, RestoreReport
from checkpoints.services import read_checkpoint, restore_checkpoint, restores
from checkpoints.services.restores import planned
from checkpoints.upgrades import Content, Step, registry
from checkpoints.vault import open_payload
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Run, Session
from sessions.services import claim_run, define_workflow, start_run
from tenants.principal import Principal
from tests.api import Api
from tests.approvals.stage import fresh_stage
from tests.chain import kinds_of
from tests.checkpoints.steps import managed_tool, report, start
from tests.checkpoints.tampering import tamper
from tests.checkpoints.test_checkpoints import HEADER, TAMPERINGS, at, numbers, save
from tests.factories import House, unique
from tests.refusals import refused
from tests.sessions.test_api import code, said
from tests.sessions.test_runs import now_of


def grown(content: Content) -> Content:
    if b"poison" in content.payload:
        raise ValueError("poison")
    return Content(content.payload + b"+", content.header)


@pytest.fixture(scope="module")
def kind() -> Iterator[str]:
    """A kind of work with the upgrades 1 to 2 and 2 to 5."""
    name = f"grows-{unique()}"
    versions = itertools.pairwise((1, 2, 5))
    registry.register(
        name,
        *(
            Step(from_version=one, to_version=two, name=f"grow_{one}", change=grown)
            for one, two in versions
        ),
    )
    yield name
    del registry._ladders[name]


def define(house: House, kind: str, *versions: int) -> None:
    define_workflow(
        tenant_id=house.id,
        by=house.alice.id,
        kind=kind,
        definition={"schema_versions": list(versions)},
    )


@pytest.fixture
def old(house: House, who: Principal, session: Session, kind: str) -> Run:
    """A run whose head has schema 1, while today's agent reads 5."""
    define(house, kind, 1)
    run, _ = start_run(who=who, session_id=session.id, workflow=kind)
    save(who, run, at(None, b"precious"))
    define(house, kind, 5)
    return run


def reports(run: Run) -> list[RestoreReport]:
    with tenant_transaction(run.tenant_id):
        return list(RestoreReport.objects.filter(run_id=run.id).order_by("created_at"))


def stored(run: Run, number: int = 1) -> Checkpoint:
    """As its row is, the payload opened."""
    with tenant_transaction(run.tenant_id):
        row = Checkpoint.objects.get(run_id=run.id, number=number)
        open_payload(row, session_id=run.session_id)
        return row


def from_release(run: Run, version: int, payload: bytes = b"precious") -> None:
    """The head as another release would have saved it: its digest is right."""
    row = stored(run)
    row.schema_version = version
    digest = seal(row, hashlib.sha256(payload).digest()).hex()
    bytea = f"decode('{digest}', 'hex')"
    change = (
        f"schema_version = {version}, digest = {bytea}, payload = '{payload.decode()}',"
        " is_sealed = false"
    )
    tamper("checkpoints_checkpoint", change, row.id)
    tamper("agent_sessions_run", f"head_digest = {bytea}", run.id)


def test_an_older_checkpoint_is_read_as_todays_and_stays_as_it_is(
    who: Principal, old: Run
) -> None:
    before = stored(old)
    found = restore_checkpoint(who=who, run_id=old.id)
    after = stored(old)

    assert found.restored.content.payload == b"precious++"
    assert found.restored.content.header == HEADER
    assert found.restored.schema_version == 5
    assert bytes(after.payload) == b"precious"
    assert (after.schema_version, after.digest) == (1, before.digest)
    assert numbers(old) == [1]
    schema = found.report["schema"]
    assert (schema["found"], schema["returned"]) == (1, 5)
    assert [(one["name"], one["from"], one["to"]) for one in schema["steps"]] == [
        ("grow_1", 1, 2),
        ("grow_2", 2, 5),
    ]
    digests = [
        found.restored.content.digest.hex(),
        Content(b"precious", HEADER).digest.hex(),
    ]
    assert [schema["steps"][1]["after"], schema["steps"][0]["before"]] == digests
    assert schema["steps"][0]["after"] == schema["steps"][1]["before"]


def test_without_the_master_key_nothing_is_called_corrupted(
    who: Principal, run: Run, settings: LazySettings, tmp_path: Path
) -> None:
    """Another key file is a mistake of the moment: the run is not to suffer from it."""
    save(who, run, at(None, b"precious"))
    former = settings.DATA_KEYS
    settings.DATA_KEYS = tmp_path / "data.keys"
    for read in (restore_checkpoint, read_checkpoint):
        with refused("data_key_elsewhere", status=503):
            read(who=who, run_id=run.id)
    assert now_of(run).state == "running"
    assert reports(run) == []

    settings.DATA_KEYS = former
    assert restore_checkpoint(who=who, run_id=run.id).report["digest_ok"]


def test_a_checkpoint_that_was_mended_meanwhile_is_read_as_it_was_saved(
    who: Principal, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = save(who, run, at(None, b"precious"))
    tamper("checkpoints_checkpoint", TAMPERINGS["payload"], row.id)

    def mended(*asked: Any) -> Any:
        plan = planned(*asked)
        good = f"payload = decode('{bytes(row.stored).hex()}', 'hex')"
        tamper("checkpoints_checkpoint", good, row.id)
        return plan

    monkeypatch.setattr(restores, "planned", mended)
    read = read_checkpoint(who=who, run_id=run.id)
    assert bytes(read.payload) == b"precious"
    assert now_of(run).state == "running"


def test_todays_agent_goes_on_from_it_in_todays_schema(
    who: Principal, old: Run
) -> None:
    save(who, old, at(1, b"later", schema_version=5))
    with refused("schema_unsupported", status=409):
        save(who, old, at(2, schema_version=6))
    found = restore_checkpoint(who=who, run_id=old.id)
    assert (found.restored.schema_version, found.restored.steps) == (5, ())


def test_what_todays_workflow_lists_is_read_as_it_is(
    house: House, who: Principal, old: Run, kind: str
) -> None:
    define(house, kind, 1, 5)
    assert restore_checkpoint(who=who, run_id=old.id).restored.schema_version == 1


def test_it_is_upgraded_no_further_than_it_is_read(
    house: House, who: Principal, old: Run, kind: str
) -> None:
    define(house, kind, 2)
    assert restore_checkpoint(who=who, run_id=old.id).restored.content.payload == (
        b"precious+"
    )


def test_reading_is_not_restoring(who: Principal, old: Run) -> None:
    """It gives what is stored, and leaves no trace."""
    read = read_checkpoint(who=who, run_id=old.id)
    assert (bytes(read.payload), read.schema_version) == (b"precious", 1)
    assert reports(old) == []
    assert kinds_of(who.tenant_id, read.id) == ["checkpoint.saved"]


def test_over_http_a_restore_has_the_content_and_the_report(
    house: House, old: Run
) -> None:
    api = Api.of(house.robot)
    path = f"runs/{old.id}/checkpoints"
    first = said(api.post(f"{path}/head/restore", Idempotency_Key="one"))
    again = said(api.post(f"{path}/head/restore", Idempotency_Key="one"))
    numbered = said(api.post(f"{path}/1/restore"))
    stored = said(api.get(f"{path}/head"))

    assert first == again == numbered
    assert (first["payload"], first["schema_version"]) == ("precious++", 5)
    assert (stored["payload"], stored["schema_version"]) == ("precious", 1)
    assert first["restored"]["schema"]["found"] == 1
    assert first["digest"] == stored["digest"] == first["restored"]["digest"]
    assert first["header"] == stored["header"] == HEADER
    assert code(api.post(f"{path}/2/restore")) == (404, "not_found")
    assert code(api.post(f"{path}/1/restore", {"a": 1})) == (400, "unknown_field")
    from_release(old, 9)
    refused = api.post(f"{path}/head/restore")
    assert code(refused) == (409, "schema_unsupported")
    assert (refused.json()["reason"], refused.json()["checkpoint"]) == ("newer", 1)


def test_each_writers_restore_is_on_record_once(who: Principal, old: Run) -> None:
    head = stored(old)
    for _ in range(3):
        restore_checkpoint(who=who, run_id=old.id)
    once = ["checkpoint.saved", "checkpoint.restored", "checkpoint.upgraded"]
    assert kinds_of(who.tenant_id, head.id) == once
    ((kept),) = reports(old)
    assert (kept.door, kept.code, kept.found, kept.returned) == ("read", "", 1, 5)
    assert kept.report["digest"] == bytes(head.digest).hex()
    assert "completed" not in kept.report

    claim_run(who=who, run_id=old.id)
    restore_checkpoint(who=who, run_id=old.id)
    assert kinds_of(who.tenant_id, head.id) == once + once[1:]
    assert [one.fence for one in reports(old)] == [1, 2]


def test_the_report_says_what_is_done_and_what_is_left(
    house: House, who: Principal, run: Run
) -> None:
    save(who, run, at(None))
    tool = managed_tool(house)
    sent = start(who, run, tool)
    report(who, sent, "confirmed", "CR-771")
    report(who, start(who, run, tool), "failed")
    never = start(who, run, tool)
    report(who, never, "absent", evidence={"why": "nothing left us"})
    lost = start(who, run, tool)
    report(who, lost, "unknown")
    found = restore_checkpoint(who=who, run_id=run.id).report

    assert (found["completed"], found["pending"]) == (["read", "compare"], ["send"])
    effects = found["effects"]
    assert effects.pop("older") == 0
    assert {name: len(of) for name, of in effects.items()} == {
        "done": 1,
        "failed": 1,
        "open": 1,
        "not_started": 1,
    }
    assert effects["done"] == [
        {
            "run": str(run.id),
            "request": str(sent.request),
            "effect": str(sent.id),
            "tool": tool.name,
            "state": "confirmed",
            "external_id": "CR-771",
        }
    ]
    assert effects["open"][0]["effect"] == str(lost.id)
    assert found["is_head"]
    assert found["digest_ok"]


def test_of_very_many_effects_it_lists_what_is_open_and_says_how_many_it_does_not(
    house: House, who: Principal, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MANY_EFFECTS", 2)
    save(who, run, at(None))
    tool = managed_tool(house)
    lost = start(who, run, tool)
    report(who, lost, "unknown")
    done = [start(who, run, tool) for _ in range(5)]
    for effect in done:
        report(who, effect, "confirmed")
    effects = restore_checkpoint(who=who, run_id=run.id).report["effects"]
    assert [one["effect"] for one in effects["open"]] == [str(lost.id)]
    newest = [str(one.id) for one in done[-2:]]
    assert [one["effect"] for one in effects["done"]] == newest
    assert effects["older"] == 3


def test_the_report_says_what_is_approved_and_may_still_be_used() -> None:
    stage = fresh_stage()
    run = stage.run()
    one, two = stage.ask_all([{}, {}], run)
    stage.answer(two)
    who = stage.house.robot.principal
    effects = restore_checkpoint(who=who, run_id=run.id).report["effects"]
    assert effects["not_started"] == [
        {"request": str(one.id), "state": "asked"},
        {"request": str(two.id), "state": "approved"},
    ]


def test_a_checkpoint_that_is_not_the_head_is_read_and_not_gone_on_from(
    who: Principal, run: Run
) -> None:
    save(who, run, at(None))
    save(who, run, at(1))
    found = restore_checkpoint(who=who, run_id=run.id, number=1).report
    assert not found["is_head"]
    assert "fork" in found["advice"]
    with pytest.raises(Problem, match="fork") as raised:
        save(who, run, at(1))
    assert raised.value.code == "stale_checkpoint"
