"""Each drill fails when the guard that it is about is taken away (`sabotages`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from config.drill.programs import LOOPBACK
from config.embedded import postgres
from oversight.drills.ground import Ground
from oversight.drills.incident import Verdict, hold
from oversight.drills.incidents import INCIDENTS, deciding
from tests.drills.sabotages import SABOTAGES
from tests.drills.stage import fresh_ground

HERE = [id for id, sabotage in SABOTAGES.items() if not sabotage.own]
OWN = [id for id, sabotage in SABOTAGES.items() if sabotage.own]
# One of each guard. The rest of HERE is `long` as well as all of OWN.
QUICK = (
    *("authority-control", "authority-group-removed", "authority-policy-tightened"),
    *("authority-agent-disabled", "authority-race", "authority-revoked"),
    *("one-decision", "expired-decision", "stale-checkpoint"),
    *("schema-from-future", "exact-action", "decision-forged"),
)
SOME = [id if id in QUICK else pytest.param(id, marks=pytest.mark.long) for id in HERE]


@dataclass(frozen=True, slots=True)
class Editing:
    """All the harm that can be done where nothing but a database runs."""

    data_dir: Path

    def execute(
        self, statement: str, parameters: Mapping[str, Any] | Sequence[Any] = ()
    ) -> None:
        url = postgres.url(self.data_dir, "postgres", "keyturn")
        with psycopg.connect(url, autocommit=True) as us:
            us.execute(statement, parameters or None)


def held(id: str, ground: Ground) -> Verdict:
    """Hold the incident while its guard is out of order."""
    with pytest.MonkeyPatch.context() as patch:
        SABOTAGES[id].guard(patch)
        patch.setattr(settings, "ALLOW_PRIVATE", [LOOPBACK])
        return hold(INCIDENTS[id], ground)


@pytest.mark.parametrize("id", SABOTAGES)
def test_each_sabotage_still_finds_the_guard_that_it_takes_away(id: str) -> None:
    """Else it would only be noticed where the long ones are run."""
    with pytest.MonkeyPatch.context() as patch:
        SABOTAGES[id].guard(patch)
        assert patch._setattr or patch._setitem


@pytest.fixture
def bare_ground(monkeypatch: pytest.MonkeyPatch) -> Ground:
    """The tests' database, and verbs in this process; no web, no worker."""
    monkeypatch.setattr(deciding, "QUESTIONS", 5)
    return Ground(url="", tools="", harm=Editing(Path(settings.DATA_DIR)))  # type: ignore[arg-type]


def test_there_is_a_sabotage_for_every_incident() -> None:
    assert SABOTAGES.keys() == INCIDENTS.keys()


@pytest.mark.parametrize("id", SOME)
def test_a_drill_fails_without_its_guard(id: str, bare_ground: Ground) -> None:
    verdict = held(id, bare_ground)
    assert SABOTAGES[id].is_noticed(verdict), verdict


@pytest.mark.long
@pytest.mark.parametrize("id", HERE)
def test_with_its_guard_it_passes(id: str, bare_ground: Ground) -> None:
    """So it is not the ground that it fails on."""
    verdict = hold(INCIDENTS[id], bare_ground)
    assert verdict.word == "passed", verdict


@pytest.fixture
def sabotaged_ground(id: str, django_db_setup: None) -> Iterator[Ground]:
    """An installation whose web and worker do not have the guard either."""
    with fresh_ground(
        environment={"SABOTAGE": id},
        app="tests.drills.sabotaged.worker",
        asgi="tests.drills.sabotaged.web:application",
    ) as ground:
        yield ground


@pytest.mark.long
@pytest.mark.parametrize("id", OWN)
def test_a_drill_of_an_installation_fails_without_its_guard(
    id: str, sabotaged_ground: Ground
) -> None:
    verdict = held(id, sabotaged_ground)
    if id == "clock-skew" and verdict.word == "skipped":
        pytest.skip(verdict.reason)
    assert SABOTAGES[id].is_noticed(verdict), verdict
