"""The command, as an operator runs it: in an installation that it starts itself."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oversight.drills.incidents import INCIDENTS

BASE_DIR = Path(__file__).resolve().parents[2]
# Quick, and of each kind: a kill, a fence, a race, a door, an edit in the database.
QUICK = (
    *("authority-control", "authority-race", "idempotency", "single-use"),
    *("stale-checkpoint", "two-resumers", "decision-forged", "schema-from-future"),
)

# One report for all of them.
pytestmark = pytest.mark.xdist_group("drill-command")


def drill(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run it with a data folder of its own for the report."""
    ours = ("DATABASE_", "CELERY_", "DJANGO_", "KEYTURN_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "manage.py", "drill", *options],
        cwd=BASE_DIR,
        env={**kept, "KEYTURN_DATA_DIR": str(folder / "reports")},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Root's PostgreSQL runs as somebody else, who must be able to come here."""
    return tmp_path_factory.mktemp("drill")


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    wanted = [part for id in QUICK for part in ("--only", id)]
    done = drill(folder, "--json", "--data-dir", str(folder / "own"), *wanted)
    log = folder / "own" / "logs" / "drill.log"
    assert done.stdout, f"{done.stderr}\n{log.read_text() if log.exists() else ''}"
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if found["passed"] else 1)
    return found


@pytest.mark.parametrize("id", QUICK)
def test_an_incident_passes(id: str, report: dict[str, Any]) -> None:
    (verdict,) = [each for each in report["incidents"] if each["id"] == id]
    assert (verdict["word"], verdict["reason"]) == ("passed", "")
    assert verdict["place"] == "own"


def test_nothing_was_doubled_lost_or_left_stuck(report: dict[str, Any]) -> None:
    counts = report["counts"]
    assert [counts[name] for name in ("duplicates", "lost", "stuck")] == [0, 0, 0]
    assert counts["effects"] > 0
    assert report["verdicts"] == {"passed": len(QUICK), "failed": 0, "skipped": 0}


def test_the_report_is_kept(report: dict[str, Any], folder: Path) -> None:
    kept = folder / "reports" / "drills" / "last.json"
    assert json.loads(kept.read_text()) == report


def test_an_unknown_incident_is_named(tmp_path: Path) -> None:
    done = drill(tmp_path, "--only", "no-such-incident")
    assert done.returncode != 0
    assert "no-such-incident" in done.stderr
    assert "restart-worker" in done.stderr


def test_the_list_names_every_incident_with_its_promise(tmp_path: Path) -> None:
    lines = drill(tmp_path, "--list").stdout.splitlines()
    assert lines == [f"{each.id}: {each.promise}" for each in INCIDENTS.values()]


def test_every_incident_is_documented() -> None:
    page = (BASE_DIR / "docs" / "drills.md").read_text()
    for incident in INCIDENTS.values():
        assert f"| `{incident.id}` | {incident.promise} |" in page
