"""`manage.py checkpoint_upgrade --dry-run`: what restoring would come to, and no more."""

import io
import json
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError
from psycopg import sql

from checkpoints.models import Checkpoint
from checkpoints.rehearsal import rehearse
from checkpoints.services import restore_checkpoint
from config.embedded import postgres
from kernel.problems import Problem
from sessions.models import Run, Session
from sessions.services import complete_run, start_run
from tenants.principal import Principal
from tests.checkpoints.tampering import tamper
from tests.checkpoints.test_checkpoints import TAMPERINGS, at, save
from tests.checkpoints.test_restores import define, from_release, kind, old, stored
from tests.factories import House

__all__ = ["kind", "old"]

TABLES = """
select table_name from information_schema.columns
 where table_schema = 'public' and column_name = 'tenant_id'
"""
ROWS = """
select count(*), md5(coalesce(string_agg(t::text, '' order by t::text), ''))
  from {} t where tenant_id = %s
"""


def command(*arguments: str) -> tuple[int, str]:
    """Its exit code, and everything that it wrote."""
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("checkpoint_upgrade", *arguments, stdout=out, stderr=out)
    assert isinstance(ended.value.code, int)
    return ended.value.code, out.getvalue()


def said(house: House, *more: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and the lines by run."""
    code, text = command("--dry-run", "--json", "--tenant", str(house.id), *more)
    document = json.loads(text)
    ((tenant),) = document["tenants"]
    assert tenant["tenant"] == str(house.id)
    lines = {line["run"]: line for line in tenant["runs"]}
    refused = [line for line in lines.values() if line["code"]]
    assert document["refused"] == len(refused)
    return code, lines


def begun(house: House, who: Principal, session: Session, kind: str) -> Run:
    define(house, kind, 1)
    run, _ = start_run(who=who, session_id=session.id, workflow=kind)
    save(who, run, at(None, b"precious"))
    define(house, kind, 5)
    return run


def test_each_run_has_its_verdict_and_it_is_what_restoring_says(
    house: House, who: Principal, session: Session, kind: str, old: Run
) -> None:
    newer, cut, failing = (begun(house, who, session, kind) for _ in range(3))
    from_release(newer, 9)
    from_release(failing, 1, b"poison")
    tamper("checkpoints_checkpoint", "payload = 'prec'", stored(cut).id)
    plain, _ = start_run(who=who, session_id=session.id)
    save(who, plain, at(None))
    empty, _ = start_run(who=who, session_id=session.id)
    code, lines = said(house)

    assert code == 1
    verdicts = {
        old.id: ("upgrade", 1, 5, ""),
        newer.id: ("refuse", 9, None, "newer"),
        failing.id: ("refuse", 1, None, "step_failed"),
        cut.id: ("quarantine", 1, None, "corrupted"),
        plain.id: ("as_is", 1, 1, ""),
    }
    assert {
        run: (line["verdict"], line["found"], line["returned"], line["reason"])
        for run, line in lines.items()
    } == {str(run): verdict for run, verdict in verdicts.items()}
    assert str(empty.id) not in lines
    assert lines[str(old.id)]["steps"] == ["grow_1", "grow_2"]
    for run in (newer, failing, cut):
        with pytest.raises(Problem) as raised:
            restore_checkpoint(who=who, run_id=run.id)
        line = lines[str(run.id)]
        assert (line["code"], line["advice"]) == (
            raised.value.code,
            raised.value.document()["detail"],
        )


def test_if_all_can_be_restored_it_is_0(house: House, old: Run) -> None:
    code, lines = said(house)
    assert (code, [line["verdict"] for line in lines.values()]) == (0, ["upgrade"])


def test_runs_that_ended_are_looked_at_if_wanted(
    house: House, who: Principal, run: Run
) -> None:
    saved = save(who, run, at(None))
    complete_run(who=who, run_id=run.id, fence=1)
    tamper("checkpoints_checkpoint", TAMPERINGS["payload"], saved.id)
    assert said(house) == (0, {})
    code, lines = said(house, "--ended")
    assert (code, lines[str(run.id)]["verdict"]) == (1, "quarantine")


def test_a_head_that_is_gone_is_told(house: House, who: Principal, run: Run) -> None:
    save(who, run, at(None))
    tamper("agent_sessions_run", "head_number = 7", run.id)
    code, lines = said(house)
    assert (code, lines[str(run.id)]["reason"]) == (1, "missing")


def test_people_read_what_would_happen_and_why(house: House, old: Run) -> None:
    code, text = command("--dry-run", "--tenant", str(house.id))
    assert code == 0
    assert f"run {old.id}: checkpoint 1, schema 1 to 5 (grow_1, grow_2)" in text
    assert text.rstrip().endswith(": 1 upgrade")
    from_release(old, 9)
    code, text = command("--dry-run", "--tenant", str(house.id))
    assert code == 1
    assert f"run {old.id}: schema_unsupported: Checkpoint 1 has schema 9" in text


def test_nothing_is_changed(house: House, old: Run) -> None:
    """Not one byte of any row of the tenant, as a superuser sees them."""
    before = everything(house)
    assert before["checkpoints_checkpoint"][0] == 1
    for _ in range(2):
        said(house, "--ended")
    assert everything(house) == before


def everything(house: House) -> dict[str, tuple[int, str]]:
    """By table: how many rows the tenant has, and a digest of them."""
    url = postgres.url(settings.DATA_DIR, "postgres", "keyturn")
    with psycopg.connect(url) as superuser:
        tables = superuser.execute(TABLES).fetchall()
        return {
            table: superuser.execute(
                sql.SQL(ROWS).format(sql.Identifier(table)), [house.id]
            ).fetchone()
            for (table,) in tables
        }  # type: ignore[return-value]


def test_it_could_not_change_anything(
    house: House, old: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction itself refuses to write, whoever tries."""

    def writing(run: Run, checkpoint: Checkpoint) -> None:
        Run.objects.filter(id=run.id).update(state="cancelled")

    monkeypatch.setattr("checkpoints.rehearsal.plan_for", writing)
    with pytest.raises(DatabaseError, match="read-only"):
        list(rehearse(house.id, ended=False, progress=lambda *_: None))


def test_without_dry_run_it_does_nothing_and_says_why(house: House, old: Run) -> None:
    code, text = command("--tenant", str(house.id))
    assert code == 2
    assert "never rewritten" in text


def test_a_tenant_that_is_not_there_is_2() -> None:
    code, text = command("--dry-run", "--tenant", "nobody-here")
    assert code == 2
    assert "Could not check" in text
