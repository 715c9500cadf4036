"""The end of an episode: time goes on, workers work, and nothing may be left standing."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final
from uuid import UUID

from approvals.resume.sweep import sweep
from approvals.resume.work import work
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
PARKING: Final = ("identity.key", "position.checkpoint", "position.schema")


def drain(
    world: World, look: Callable[[], Sight], pass_by: Callable[[int], None]
) -> Sight:
    """Time goes by, each time with a sweep and a worker, until nothing happens any more."""
    with suppress(Problem):
        start_tenant(tenant_id=world.tenant_id, by=world.by)
    with suppress(Problem):
        agent_id = world.robot.agent.id
        enable_agent(tenant_id=world.tenant_id, by=world.by, agent_id=agent_id)
    for _ in range(ROUNDS):
        for system in world.systems.values():
            system.land()
            system.tells, system.behaviour = True, "confirm"
        pass_by(LONG)
        sweep()
        sight = look()
        due = [job for job in sight.jobs if job.due_at and job.due_at <= sight.now]
        for job in due:
            work(job.id)
        if not due and not sight.moves:
            break
    return look()


def standing(sight: Sight) -> Iterator[str]:
    """Runs that no worker, sweep or clock will move any more, and no person is asked."""
    for run in sight.runs:
        if run.state in ENDED or run.state == "running":
            yield from _loose_ends(sight, run)
        elif run.state != "needs_attention":
            yield f"run {run.id} stays {run.state}: {_told(sight, run)}"
        elif not _is_for_a_person(sight, run):
            yield f"run {run.id} needs attention, and nothing tells for what:" + _told(
                sight, run
            )


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


def _is_for_a_person(sight: Sight, run: Row) -> bool:
    requests = {one.id for one in find(sight.requests, run_id=run.id)}
    doubted = [
        one for one in find(sight.effects, run_id=run.id) if one.state in DOUBTED
    ]
    jobs = [one for one in sight.jobs if one.request_id in requests]
    return bool(doubted) or any(
        one.state == "dead" or one.code.startswith(PARKING) for one in jobs
    )


def resolve_all(world: World, sight: Sight) -> list[UUID]:
    """A person looks at each effect that nothing else could prove, and tells the truth."""
    tools = {tool.id: tool.name for tool in sight.tools}
    resolved = []
    for effect in sight.effects:
        if effect.state not in DOUBTED:
            continue
        system = world.systems.get(tools[effect.tool_id])
        happened = system is None or bool(system.done[bytes(effect.key).hex()])
        resolve_effect(
            world.person("erin"),
            effect_id=effect.id,
            outcome="confirmed" if happened else "absent",
            evidence=json.dumps({"seen": happened}),
        )
        resolved.append(effect.run_id)
    return resolved


def still_parked(sight: Sight, resolved: list[UUID]) -> Iterator[str]:
    """What needed nothing but its effects' outcomes goes on once they are known."""
    for run in sight.runs:
        if run.id in resolved and run.state == "needs_attention":
            requests = {one.id for one in find(sight.requests, run_id=run.id)}
            jobs = [one for one in sight.jobs if one.request_id in requests]
            if not any(
                one.state == "dead" or one.code.startswith(PARKING) for one in jobs
            ):
                yield f"run {run.id} still needs attention after all was resolved"
