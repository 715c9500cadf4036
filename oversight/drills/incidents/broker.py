"""A broker that forgets, that repeats itself, and that is not there."""

from typing import Final

from oversight.drills.house import House
from oversight.drills.incident import incident
from oversight.drills.incidents.workers import SLACK, SWEEP
from oversight.drills.scene import Scene

SEVERAL: Final = 10
# A worker that has just started has much to do before its first task.
STARTING: Final = 15


@incident(
    "broker-wiped",
    "The broker forgets every message: each approved action happens within one sweep",
    harms=True,
)
def broker_wiped(scene: Scene) -> None:
    house = _house(scene)
    with scene.harm.no_worker():
        requests = [house.approved() for _ in range(SEVERAL)]
        scene.must_happen(house, *requests)
        forgotten = scene.harm.wipe_broker()
        scene.check("the broker had them", forgotten >= SEVERAL, forgotten)
    within = SWEEP + SLACK + STARTING
    taken = scene.until_done(house, *requests, within=within)
    scene.note("messages forgotten", forgotten)
    scene.note("seconds until all had happened", f"{taken:.1f}")


@incident(
    "broker-tenfold",
    "The broker delivers every message ten times: each action happens once",
    harms=True,
)
def broker_tenfold(scene: Scene) -> None:
    house = _house(scene)
    with scene.harm.no_worker():
        requests = [house.approved() for _ in range(SEVERAL)]
        scene.must_happen(house, *requests)
        multiplied = scene.harm.multiply_messages(10)
        scene.check("there was something to repeat", multiplied >= SEVERAL, multiplied)
    scene.until_done(house, *requests, within=SWEEP + SLACK + STARTING)
    claims = [house.job(request).attempts for request in requests]
    scene.equal("each job was claimed once", claims, [1] * SEVERAL)
    scene.note("messages delivered tenfold", multiplied)


@incident(
    "broker-down",
    "The broker is away while people decide: nobody notices, and every action happens",
    harms=True,
)
def broker_down(scene: Scene) -> None:
    house = _house(scene)
    with scene.harm.broker_down():
        requests = [house.approved() for _ in range(SEVERAL)]
        scene.must_happen(house, *requests)
    within = SWEEP + SLACK + scene.harm.restarts
    taken = scene.until_done(house, *requests, within=within)
    scene.note("seconds until all had happened", f"{taken:.1f}")


def _house(scene: Scene) -> House:
    house, tool = scene.house(), scene.tool()
    house.tool(tool.definition())
    return house
