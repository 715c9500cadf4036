"""The doctor finds what is wrong, and says so by its exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import LazySettings

from audit.keys import signing_key
from config import doctor
from config.doctor import State


def findings() -> dict[str, doctor.Finding]:
    return {finding.name: finding for finding in doctor.examine()}


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "doctor", *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
    )


def test_a_healthy_installation() -> None:
    signing_key()
    done = run("--json")
    states = {row["name"]: row["state"] for row in json.loads(done.stdout)}
    assert {name for name, state in states.items() if state == "failed"} == set()
    assert {name for name, state in states.items() if state == "ok"} >= {
        *("python", "database", "clock", "roles", "migrations", "broker"),
        *("audit key", "disk", "files"),
    }
    assert done.returncode == 0


def test_files_that_cannot_be_kept(settings: LazySettings, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    options = {"location": str(tmp_path / "taken")}
    artifacts = {**settings.STORAGES["artifacts"], "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "artifacts": artifacts}
    assert findings()["files"].state is State.FAILED


def test_a_limit_of_files_that_no_file_reaches(settings: LazySettings) -> None:
    settings.ARTIFACT_LIMIT = 13 << 20
    assert findings()["files"].state is State.WARNING


def test_the_table_is_for_people() -> None:
    done = run()
    assert "PostgreSQL 18, embedded" in done.stdout
    assert "\x1b" not in done.stdout  # colours are for terminals


def test_a_database_that_is_not_there_fails() -> None:
    url = "postgresql://keyturn_app:hush@/nowhere?host=/nonexistent"
    done = run("--json", DATABASE_URL=url, DJANGO_SECRET_KEY="k")
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["database"]["state"] == rows["roles"]["state"] == "failed"
    assert done.returncode == 1
    assert "hush" not in done.stdout + done.stderr


def test_a_role_that_is_not_the_one_it_should_be(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.DATABASES, "relay", settings.DATABASES["owner"])
    assert findings()["roles"] == doctor.Finding(
        "roles", State.FAILED, "relay connects as keyturn_owner"
    )


def test_an_app_that_connects_as_the_owner(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.DATABASES, "default", settings.DATABASES["owner"])
    found = findings()["roles"]
    assert found.state is State.FAILED
    assert "keyturn_owner owns tables" in found.detail


def test_an_exposed_audit_key(settings: LazySettings) -> None:
    key = settings.DATA_DIR / "keys" / "exposed.pem"
    key.write_text("not even a key")
    key.chmod(0o644)
    settings.AUDIT_KEY = key
    found = findings()["audit key"]
    key.unlink()
    assert found.state is State.FAILED
    assert "Others may read" in found.detail


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LEAST_FREE", 1 << 60)
    assert findings()["disk"].state is State.WARNING


def test_a_worker_is_alive_while_it_beats(settings: LazySettings) -> None:
    file = settings.DATA_DIR / "workers" / "celery@here"
    file.parent.mkdir(exist_ok=True)
    file.touch()
    assert findings()["worker"] == doctor.Finding("worker", State.OK, "celery@here")
    long_ago = file.stat().st_mtime - 60
    os.utime(file, (long_ago, long_ago))
    assert findings()["worker"].state is State.WARNING
    file.unlink()
