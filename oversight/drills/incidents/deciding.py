"""Deciding and using a decision: once, in time, and by exactly what was seen."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from secrets import token_hex
from threading import Barrier
from typing import Final

import httpx
from django.db import IntegrityError, connection

from approvals.models import Decision, Grant, Request
from approvals.publishing import publish
from approvals.services.redeem import redeem
from checkpoints.models import Effect
from kernel.clock import database_now
from kernel.locks import try_request_key
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from oversight.drills.doors import Door
from oversight.drills.house import House, Human
from oversight.drills.incident import incident
from oversight.drills.scene import Scene
from tenants.idempotency import kept_key

V = Decision.Verdict
THREADS: Final = 8
QUESTIONS: Final = 25
TRIVIAL: Final = 50
APPROVALS: Final = "/api/v1/approvals"


@incident(
    "one-decision", "Eight answers arrive at once, for and against: one is the decision"
)
def one_decision(scene: Scene) -> None:
    house = scene.house()
    house.agent_tool()
    requests = [house.ask() for _ in range(QUESTIONS)]
    won = [_answered_at_once(house, request) for request in requests]
    scene.equal("one answer was taken of each eight", won, [1] * QUESTIONS)
    with tenant_transaction(house.id):
        decisions = Decision.objects.count()
        states = set(Request.objects.values_list("state", flat=True))
        approved = Request.objects.filter(state=Request.State.APPROVED).count()
        grants = Grant.objects.count()
    scene.equal("there is one decision for each", decisions, QUESTIONS)
    scene.equal("one grant for each that was approved", grants, approved)
    scene.check("all are decided", states <= {"approved", "rejected"}, states)
    scene.note("answers at once", f"{THREADS} to each of {QUESTIONS} questions")


def _answered_at_once(house: House, request: Request) -> int:
    """How many of the answers were taken."""
    start, digest = Barrier(THREADS), house.digest(request)
    answers = zip(cycle([house.bob, house.carol]), _verdicts(), strict=False)

    def one(human: Human, verdict: Decision.Verdict) -> int:
        start.wait(timeout=30)
        said = {"verdict": verdict, "digest": digest, "reason": "At once."}
        try:
            house.approve(request, human, **said)
        except (Problem, IntegrityError):  # the database refuses as well as the verb
            return 0
        finally:
            connection.close()
        return 1

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(lambda answer: one(*answer), answers))


def _verdicts() -> list[Decision.Verdict]:
    return [V.APPROVE, V.REJECT, V.REJECT, V.APPROVE] * (THREADS // 4)


@incident("expired-decision", "Nobody decides in time: too late is refused, not taken")
def expired_decision(scene: Scene) -> None:
    house = scene.house()
    house.agent_tool()
    request = house.ask(decide_within=1)
    due_at = request.due_at
    scene.wait("its time is over", lambda: due_at and database_now() > due_at)
    code = _refusal(lambda: house.approve(request))
    # A sweep may have recorded it first.
    scene.check("it is refused", code in {"expired", "already_decided"}, code)
    scene.equal("it has expired", house.fresh(request).state, Request.State.EXPIRED)
    with tenant_transaction(house.id):
        scene.equal("there is no grant", Grant.objects.count(), 0)
    scene.note_run(house, request.run_id)


@incident(
    "single-use", "A decision, its job and its grant are each used again: one effect"
)
def single_use(scene: Scene) -> None:
    house = scene.house()
    house.agent_tool()
    run, other = house.run(), house.run()
    request = house.approved(run)
    first = redeem(house.robot, request_id=request.id, fence=run.fence)
    again = redeem(house.robot, request_id=request.id, fence=run.fence)
    scene.equal("the same effect is handed out", again.effect.id, first.effect.id)
    late = _refusal(lambda: house.approve(request, house.carol))
    scene.equal("a second decision is refused", late, "already_decided")
    job = house.job(request)
    for _ in range(10):
        publish(job.id)
    scene.wait("its job is done", lambda: house.job(request).state == "done")
    elsewhere = _refusal(
        lambda: redeem(house.robot, request_id=request.id, fence=other.fence + 7)
    )
    scene.equal("another run's writer gets nothing", elsewhere, "stale_writer")
    with tenant_transaction(house.id):
        scene.equal("there is one effect", Effect.objects.count(), 1)
        grants = list(Grant.objects.values_list("state", flat=True))
    scene.equal("the one grant is consumed", grants, [Grant.State.CONSUMED])
    scene.note_run(house, run.id)


@incident(
    "idempotency",
    "The same request is sent again: the stored answer, and no second question",
)
def idempotency(scene: Scene) -> None:
    house, stranger = scene.house(), scene.house()
    door = Door.of_agent(scene.ground.url, house.key.text)
    key, body = token_hex(16), _body("1240.00")
    first = door.post(APPROVALS, body, Idempotency_Key=key)
    scene.equal("it is answered", first.status_code, 201)
    again = door.post(APPROVALS, body, Idempotency_Key=key)
    scene.equal("again: the stored answer", again.json(), first.json())
    other = door.post(APPROVALS, _body("1.00"), Idempotency_Key=key)
    scene.equal("another body", _code(other), "idempotency_mismatch")
    busy = _while_in_flight(house, door, body)
    scene.equal("while the first is under way", busy, "idempotency_in_flight")
    elsewhere = Door.of_agent(scene.ground.url, stranger.key.text)
    theirs = elsewhere.post(APPROVALS, body, Idempotency_Key=key)
    scene.equal("another tenant's equal key", theirs.status_code, 201)
    with tenant_transaction(house.id):
        scene.equal("there is one question", Request.objects.count(), 1)


def _while_in_flight(house: House, door: Door, body: object) -> str:
    """Somebody else holds the key, as whoever came first does until they commit."""
    key = token_hex(16)
    with tenant_transaction(house.id):
        try_request_key(house.id, house.robot.agent_id, kept_key(key))
        return _code(door.post(APPROVALS, body, Idempotency_Key=key))


def _body(amount: str) -> dict[str, object]:
    arguments = {"payee": "Halden Paper Supply", "amount": amount}
    return {"tool": "pay", "arguments": arguments}


def _code(answer: httpx.Response) -> str:
    return str(answer.json().get("code"))


def _refusal(act: Callable[[], object]) -> str:
    try:
        act()
    except Problem as problem:
        return problem.code
    return "accepted"


@incident(
    "approval-fatigue",
    "Fifty trivial questions around a critical one: people see the critical one first",
)
def approval_fatigue(scene: Scene) -> None:
    house = scene.house()
    house.tool({}, mode="agent", name="note", risk="low")
    house.tool({}, mode="agent", name="act", risk="critical")
    trivial = [house.ask(tool="note") for _ in range(TRIVIAL // 2)]
    critical = house.ask(tool="act")
    trivial += [house.ask(tool="note") for _ in range(TRIVIAL // 2)]
    door = Door.of_member(scene.ground.url, house, house.bob)
    page = door.get(f"/t/{house.tenant.slug}/queue")
    scene.equal("the queue is shown", page.status_code, 200)
    first = min((critical, *trivial), key=lambda one: _place(page.text, one))
    scene.equal("the first of them is", first.risk, "critical")
    scene.note("questions", f"{TRIVIAL} of low risk, 1 critical")
    scene.note_run(house, critical.run_id)


def _place(page: str, request: Request) -> int:
    """Where a page names it first; behind everything if it does not."""
    found = page.find(str(request.id))
    return len(page) if found < 0 else found
