"""Workers that are killed, that stand still, and that come back too late."""

from typing import Final

from approvals.models import Request
from approvals.resume.barriers import INTENT, NAMES, SEND
from checkpoints.models import Attempt, Effect
from kernel.scope import tenant_transaction
from oversight.drills.house import House
from oversight.drills.incident import incident
from oversight.drills.scene import Scene
from sessions.models import Run

# After a claim has lapsed, one sweep (2 s, and 1 s of grace) offers the job again; the
# rest is slack for a busy machine, and far from what being stuck looks like.
SWEEP: Final = 3
SLACK: Final = 12

CHILD: Final = "child"
PARENT: Final = "parent"
# Of an action that was killed there nobody knows whether it was sent. It is sent again
# at once only where the tool honours keys.
UNSURE: Final = (INTENT, SEND)


@incident(
    "restart-worker",
    "A worker is killed at each of eight places: everything happens, and happens once",
    harms=True,
)
def restart_worker(scene: Scene) -> None:
    house = killing_ground(scene)
    for place in NAMES:
        kill_at(scene, house, place, CHILD)
    for place in UNSURE:
        kill_at(scene, house, place, PARENT)


def killing_ground(scene: Scene) -> House:
    """A house with two tools: "keyed" acts once a key, "plain" whenever it is called."""
    house = scene.house()
    keyed, plain = scene.tool(honours_keys=True), scene.tool()
    house.tool(keyed.definition(resend=True), name="keyed")
    house.tool(plain.definition(), name="plain")
    return house


def kill_at(scene: Scene, house: House, place: str, whom: str) -> float:
    """Kill `CHILD` or `PARENT` at `place`, in the house of `killing_ground`.

    Returns after how many seconds it was made good; for a parent, from the moment at
    which its successor works.
    """
    harm = scene.harm
    harm.barriers.arm(place)
    request = house.approved(tool="keyed" if place in UNSURE else "plain")
    scene.must_happen(house, request)
    pid = harm.barriers.reached(place)
    if whom == CHILD:
        harm.kill(pid)
    else:
        harm.kill_worker()
    scene.counts.kills += 1
    harm.barriers.release(place)
    if whom == PARENT:
        harm.wait_for_worker()
    taken = _until_made_good(scene, house, request)
    scene.note(f"{place}, {whom}", f"made good after {taken:.1f} s")
    return taken


def _until_made_good(scene: Scene, house: House, request: Request) -> float:
    """The action has happened, its job is done, and its run goes on."""

    def made_good() -> bool:
        run = house.run_of(request)
        return house.job(request).state == "done" and run.state == Run.State.RUNNING

    within = scene.harm.claim_seconds + SWEEP + SLACK
    taken = scene.wait("it is made good", made_good, within)
    scene.equal("it has happened", house.effect_state(request), "confirmed")
    return taken


@incident(
    "two-resumers",
    "A worker stands still, another takes over, the first comes back: it is fenced off",
    harms=True,
)
def two_resumers(scene: Scene) -> None:
    harm = scene.harm
    house, tool = scene.house(), scene.tool(fences=True)
    house.tool(tool.definition(resend=True))
    harm.barriers.arm(SEND)
    request = house.approved()
    scene.must_happen(house, request)
    pid = harm.barriers.reached(SEND)
    with harm.standing_still(pid):
        harm.barriers.release(SEND)
        within = harm.claim_seconds + SWEEP + SLACK
        scene.until_done(house, request, within=within)
        scene.equal("nobody was fenced off yet", tool.fenced_off, 0)
    scene.wait("the first comes", lambda: tool.calls > 1)
    scene.equal("it came too late", tool.fenced_off, 1)
    scene.equal("the tool was called twice", tool.calls, 2)
    _check_attempts(scene, house, request)


def _check_attempts(scene: Scene, house: House, request: Request) -> None:
    with tenant_transaction(house.id):
        effect = Effect.objects.get(request=request.id)
        first, second = Attempt.objects.filter(effect=effect).order_by("number")
    scene.check("the second attempt has the newer fence", second.fence > first.fence)
    outcomes = (first.outcome, second.outcome, effect.state)
    wanted = ("unknown", "confirmed", "confirmed")
    scene.equal("what came of them", outcomes, wanted)
    scene.note("effect", effect.id)
    scene.note_run(house, request.run_id)
