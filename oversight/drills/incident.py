"""An incident: a stable id, what is promised, and how it is played."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import structlog
from django.db import DatabaseError

from kernel.problems import Problem
from oversight.drills.ground import Ground, Skipped
from oversight.drills.house import House
from oversight.drills.reckoning import reckon
from oversight.drills.scene import Counts, Evidence, Scene
from oversight.services.drills import record_drill
from tenants.checks import Operator

type Word = Literal["passed", "failed", "skipped"]
type Play = Callable[[Scene], None]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """`harms`: it is held only in an installation of the drill's own."""

    id: str
    promise: str
    harms: bool
    play: Play


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one holding of an incident came to. `place` is "here" or "own"."""

    id: str
    promise: str
    word: Word
    seconds: float
    place: str
    reason: str = ""
    counts: Counts
    evidence: tuple[Evidence, ...] = ()


INCIDENTS: Final[dict[str, Incident]] = {}


def incident(id: str, promise: str, *, harms: bool = False) -> Callable[[Play], Play]:
    """Put a function on the list, in the order in which they are defined."""

    def register(play: Play) -> Play:
        assert id not in INCIDENTS, id
        INCIDENTS[id] = Incident(id=id, promise=promise, harms=harms, play=play)
        return play

    return register


def hold(incident: Incident, ground: Ground) -> Verdict:
    """Play the incident, count, and stop its tenants, whatever came of it."""
    scene = Scene(incident.id, ground)
    began = time.monotonic()
    word, reason = _outcome(incident, scene)
    verdict = Verdict(
        id=incident.id,
        promise=incident.promise,
        word=word,
        seconds=round(time.monotonic() - began, 2),
        place="own" if ground.harm else "here",
        reason=reason,
        counts=scene.counts,
        evidence=tuple(scene.evidence),
    )
    for house in scene.houses:
        _close(house, verdict)
    return verdict


def not_held(incident: Incident, word: Word, reason: str) -> Verdict:
    """The verdict on an incident that could not even begin."""
    return Verdict(
        id=incident.id,
        promise=incident.promise,
        word=word,
        seconds=0.0,
        place="own",
        reason=reason,
        counts=Counts(),
    )


def _outcome(incident: Incident, scene: Scene) -> tuple[Word, str]:
    try:
        incident.play(scene)
        reckon(scene)
    except Skipped as skipped:
        return "skipped", str(skipped)
    except Exception as error:
        log.info("drill_failed", incident=incident.id, exc_info=error)
        return "failed", str(error) or type(error).__name__
    return "passed", ""


def _close(house: House, verdict: Verdict) -> None:
    """Put the verdict on the tenant's own record, and stop it."""
    said = {"incident": verdict.id, "verdict": verdict.word, "reason": verdict.reason}
    try:
        record_drill(house.id, by=Operator.CONSOLE, kind="held", data=said)
        house.close()
    except (Problem, DatabaseError) as error:  # an incident may have stopped it
        log.info("drill_tenant_not_stopped", slug=house.tenant.slug, why=str(error))
