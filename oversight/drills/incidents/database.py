"""A database that goes away in the middle, and one that comes back as it was before."""

from concurrent.futures import ThreadPoolExecutor
from secrets import token_hex
from typing import Final

import httpx

from approvals.models import Decision, Grant, Request
from approvals.resume.anchoring import anchor_or_stop
from approvals.services.recovery import end_recovery
from kernel.scope import tenant_transaction
from oversight.drills.doors import Door
from oversight.drills.house import House
from oversight.drills.incident import incident
from oversight.drills.incidents.workers import SLACK, SWEEP
from oversight.drills.scene import Scene
from sessions.models import Run
from tenants.checks import Operator

MANY: Final = 8  # requests at once: as many as a pool has connections

WAITING = """SELECT count(*) FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND wait_event = 'advisory' AND usename = 'keyturn_app'
"""


@incident(
    "postgres-down",
    "PostgreSQL stops in the middle of a decision: 503, and one decision when retried",
    harms=True,
)
def postgres_down(scene: Scene) -> None:
    house = scene.house()
    house.agent_tool()
    request = house.ask()
    door = Door.of_member(scene.ground.url, house, house.bob)
    key = token_hex(16)
    _stop_in_the_middle(scene, house, request, door, key)
    scene.wait("the database is there again", lambda: _is_ready(scene))
    answers = [_decide(house, request, door, key) for _ in range(2)]
    scene.equal("a retry is answered", {one.status_code for one in answers}, {200})
    with tenant_transaction(house.id):
        decisions = Decision.objects.filter(request=request).count()
        grants = Grant.objects.filter(request=request).count()
    scene.equal("decisions and grants", (decisions, grants), (1, 1))
    scene.note_run(house, request.run_id)


def _stop_in_the_middle(
    scene: Scene, house: House, request: Request, door: Door, key: str
) -> None:
    """The decision has begun and waits for the gate, which somebody holds."""
    harm = scene.harm
    digest = house.digest(request).hex()
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(_hold_the_gate, scene, house)
        scene.wait("the gate is held", lambda: harm.execute(GATE_HELD)[0][0])
        deciding = pool.submit(_post, door, request, digest, key)
        scene.wait("the decision waits", lambda: harm.execute(WAITING)[0][0])
        with harm.database_down():
            _check_unavailable(scene, deciding.result())
            _check_unavailable(scene, _post(door, request, digest, key))
            scene.note("answered while it was away", deciding.result().status_code)
        held.exception()  # its connection ended with the server


GATE_HELD = """SELECT count(*) FROM pg_locks
  WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted"""


def _hold_the_gate(scene: Scene, house: House) -> None:
    scene.harm.execute(
        "SELECT pg_advisory_lock(keyturn_gate(%s)), pg_sleep(20)", [house.id]
    )


def _check_unavailable(scene: Scene, answer: httpx.Response) -> None:
    scene.equal("the answer is 503", answer.status_code, 503)
    scene.check("it says when to try again", answer.headers.get("Retry-After"))
    scene.check("no stack trace is shown", "Traceback" not in answer.text)


def _decide(house: House, request: Request, door: Door, key: str) -> httpx.Response:
    return _post(door, request, house.digest(request).hex(), key)


def _post(door: Door, request: Request, digest: str, key: str) -> httpx.Response:
    path = f"/api/v1/approvals/{request.id}/decisions"
    body = {"verdict": "approve", "digest": digest}
    return door.post(path, body, Idempotency_Key=key)


def _is_ready(scene: Scene) -> bool:
    url = f"{scene.ground.url}/health/ready"
    return httpx.get(url, trust_env=False, timeout=10).is_success


@incident(
    "postgres-restarted",
    "PostgreSQL restarts while nobody asks: no request meets a connection that ended",
    harms=True,
)
def postgres_restarted(scene: Scene) -> None:
    house, tool = scene.house(), scene.tool()
    house.tool(tool.definition())
    agent = Door.of_agent(scene.ground.url, house.key.text)
    with ThreadPoolExecutor(MANY) as pool:  # so that several connections are open
        before = set(pool.map(lambda _: _asked(agent), range(4 * MANY)))
    scene.equal("all is well before", before, {200})
    with scene.harm.database_down():
        pass
    after = [_asked(agent) for _ in range(2 * MANY)]
    scene.equal("and after it", set(after), {200})
    request = house.approved()
    scene.must_happen(house, request)
    scene.until_done(house, request, within=SWEEP + SLACK)
    scene.note("requests after it", len(after))


def _asked(agent: Door) -> int:
    return agent.get("/api/v1/sessions").status_code


@incident(
    "restored-backup",
    "A backup is restored over newer effects: nothing acts until an operator has looked",
    harms=True,
)
def restored_backup(scene: Scene) -> None:
    harm, house, tool = scene.harm, scene.house(), scene.tool()
    house.tool(tool.definition())
    with harm.no_worker():
        request = house.approved()
        copy = harm.backup()
    scene.until_done(house, request, within=SWEEP + SLACK + harm.restarts)
    anchor_or_stop()
    scene.equal("it has happened once", list(tool.effects.values()), [1])
    harm.restore(copy)
    scene.equal("the database knows nothing of it", house.effect_state(request), "none")
    scene.wait(
        "the worker has looked",
        lambda: house.job(request).code,
        seconds=SWEEP + SLACK + harm.restarts,
    )
    scene.equal("and waits", house.job(request).code, "authority.recovery")
    anchor_or_stop()
    tenant = house.fresh(house.tenant)
    scene.check("the tenant is in recovery", tenant.recovering_since)
    _end_recovery(scene, house, request)
    scene.equal("it still has happened once", list(tool.effects.values()), [1])


def _end_recovery(scene: Scene, house: House, request: Request) -> None:
    ended = end_recovery(
        tenant_id=house.id, by=Operator.CONSOLE, reason="The drill has looked."
    )
    with tenant_transaction(house.id):
        grant = Grant.objects.get(request=request)
        run = Run.objects.get(id=request.run_id)
    scene.equal("its unused approval is revoked", grant.state, Grant.State.REVOKED)
    scene.equal("its run needs attention", run.state, Run.State.NEEDS_ATTENTION)
    scene.note("approvals revoked", ended.grants)
    scene.note_run(house, run.id)
