"""Clocks that are wrong: only the database's decides."""

from typing import Final

import httpx

from approvals.models import Request
from kernel.clock import database_now
from oversight.drills.doors import Door
from oversight.drills.house import House
from oversight.drills.incident import incident
from oversight.drills.incidents.workers import SLACK, SWEEP
from oversight.drills.scene import Scene

TEN_MINUTES: Final = 600


@incident(
    "clock-skew",
    "Web and worker are ten minutes fast, and then slow: every verdict stays the same",
    harms=True,
)
def clock_skew(scene: Scene) -> None:
    house, tool = scene.house(), scene.tool()
    house.tool(tool.definition())
    house.policy(wait=1)  # a sweep must find what is due, on a worker's wrong clock
    for seconds in (TEN_MINUTES, -TEN_MINUTES):
        with scene.harm.skewed(seconds):
            _live_is_accepted(scene, house)
            _expired_is_refused(scene, house)
        scene.note("clock", f"{seconds:+} s: the same verdicts")


def _live_is_accepted(scene: Scene, house: House) -> None:
    """Five minutes are left to decide and to act, by the database's clock."""
    request = house.ask(decide_within=300, use_within=300)
    answer = _decide(scene, house, request)
    scene.equal("a live question is decided", answer.status_code, 200)
    scene.must_happen(house, request)
    scene.until_done(house, request, within=SWEEP + SLACK)


def _expired_is_refused(scene: Scene, house: House) -> None:
    request = house.ask(decide_within=1)
    due = request.due_at
    scene.wait("its time is over", lambda: due is not None and database_now() > due)
    answer = _decide(scene, house, request)
    scene.equal("an expired question is not decided", answer.status_code, 409)
    state = house.fresh(request).state
    scene.equal("it has expired", state, Request.State.EXPIRED)


def _decide(scene: Scene, house: House, request: Request) -> httpx.Response:
    door = Door.of_member(scene.ground.url, house, house.bob)
    return door.post(
        f"/api/v1/approvals/{request.id}/decisions",
        {"verdict": "approve", "digest": house.digest(request).hex()},
    )
