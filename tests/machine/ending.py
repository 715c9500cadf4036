"""The end of an episode: time goes on, workers work, and nothing may be left standing."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final
from uuid import UUID

from approvals.resume.sweep import sweep
from approvals.resume.work import work
from approvals.services.attention import release_run
from approvals.services.recovery import end_recovery
from approvals.services.resolve import resolve_effect
from kernel.problems import Problem
from tenants.services import enable_agent, start_tenant
from tests.machine.sight import Row, Sight, find
from tests.machine.world import World

LONG: Final = 30 * 60 * 60  # seconds; longer than any time to decide
ROUNDS: Final = 8
ENDED: Final = {"completed", "failed", "cancelled"}
OPEN: Final = {"pending", "changes_requested", "approved"}
DOUBTED: Final = {"unknown", "needs_attention"}


def drain(
    world: World, look: Callable[[], Sight], pass_by: Callable[[int], None]
) -> Sight:
    """Time goes by, each time with a sweep and a worker, until nothing happens any more:
    every job came to what it came to the time before, and nothing else moved."""
    with suppress(Problem):
        start_tenant(tenant_id=world.tenant_id, by=world.by)
    with suppress(Problem):
        agent_id = world.robot.agent.id
        enable_agent(tenant_id=world.tenant_id, by=world.by, agent_id=agent_id)
    with suppress(Problem):
        end_recovery(tenant_id=world.tenant_id, by=world.by, reason="It ends.")
    said: dict[UUID, str] = {}
    for _ in range(ROUNDS):
        for system in world.systems.values():
            system.land()
            system.tells, system.behaviour = True, "confirm"
        pass_by(LONG)
        sweep()
        swept = look()
        due = [job for job in swept.jobs if job.due_at and job.due_at <= swept.now]
        before, said = said, {job.id: work(job.id) for job in due}
        sight = look() if due else swept
        moved = {one.what for one in (*swept.moves, *sight.moves)} - {"job"}
        if not moved and said == before:
            break
    return sight


def standing(sight: Sight) -> Iterator[str]:
    """Runs that no worker, sweep or clock will move any more, and no person is asked."""
    for run in sight.runs:
        if run.state in ENDED or run.state == "running":
            yield from _loose_ends(sight, run)
        elif run.state != "needs_attention":
            yield f"run {run.id} stays {run.state}: {_told(sight, run)}"
        elif not run.reason:
            yield f"run {run.id} needs attention, and does not say why"


def _told(sight: Sight, run: Row) -> str:
    """What there is of the run, for whoever has to find out."""
    asked = [(one.id, one.state) for one in find(sight.requests, run_id=run.id)]
    ids = {request for request, _ in asked}
    jobs = [(j.kind, j.state, j.code) for j in sight.jobs if j.request_id in ids]
    effects = [one.state for one in find(sight.effects, run_id=run.id)]
    questions = [state for _, state in asked]
    return f"questions {questions}, jobs {jobs}, effects {effects}"


def _loose_ends(sight: Sight, run: Row) -> Iterator[str]:
    for request in find(sight.requests, run_id=run.id):
        if request.state in OPEN:
            yield f"run {run.id} is {run.state}, and its request {request.state}"
    for effect in find(sight.effects, run_id=run.id):
        if effect.state not in {"confirmed", "failed", "absent"}:
            yield f"run {run.id} is {run.state}, and its effect {effect.state}"


def look_after_all(world: World, sight: Sight) -> int:
    """A person tells the truth about each effect that nothing else could prove, and
    lets every run go on that needed attention; how many those were."""
    tools = {tool.id: tool.name for tool in sight.tools}
    for effect in sight.effects:
        if effect.state in DOUBTED:
            system = world.systems.get(tools[effect.tool_id])
            happened = system is None or bool(system.done[bytes(effect.key).hex()])
            resolve_effect(
                world.person("erin"),
                effect_id=effect.id,
                outcome="confirmed" if happened else "absent",
                evidence=json.dumps({"seen": happened}),
            )
    parked = find(sight.runs, state="needs_attention")
    for run in parked:
        # Unless its effect's outcome was all that it needed.
        with suppress(Problem):
            release_run(world.person("erin"), run_id=run.id, reason="All is known.")
    return len(parked)


def parked(sight: Sight) -> Iterator[str]:
    """After all that, nothing that still needs a person."""
    for run in find(sight.runs, state="needs_attention"):
        yield f"run {run.id} needs attention for ever ({run.reason}): {_told(sight, run)}"
