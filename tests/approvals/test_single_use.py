"""Consumed once, in front of everybody: races, revocation, records, a lost broker."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from unittest.mock import patch
from uuid import UUID

import pytest
from django.db import connection

from approvals.models import Decision, Grant, Request, ResumeJob
from approvals.resume import sweep as sweeping
from approvals.resume.work import work
from approvals.services.consume import _use_up
from approvals.services.granting import SYSTEM
from approvals.services.policies import add_revision
from approvals.services.revoke import revoke
from checkpoints.models import Effect
from kernel.scope import tenant_transaction
from kernel.update import LostRace
from tenants.verbs import Gate, Verb, perform
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.test_resume import jobs_of, make_due, managed, work_all
from tests.approvals.tool_server import ToolServer
from tests.chain import kinds_of
from tests.examples.waiting import wait_until
from tests.machine.workers import DEATHS, Held, armed, work_until
from tests.refusals import refused


def test_of_two_who_use_a_grant_one_finds_it_live() -> None:
    stage = fresh_stage()
    request = stage.ask()
    stage.answer(request)

    def twice(verb: Verb) -> None:
        grant = Grant.objects.get(request=request)
        _use_up(verb, grant, SYSTEM)
        with pytest.raises(LostRace):
            _use_up(verb, grant, SYSTEM)

    perform(stage.tenant_id, twice)


def test_what_is_being_sent_can_no_longer_be_revoked(tool_server: ToolServer) -> None:
    stage, _, request = managed(tool_server)
    with armed():
        worker = Held(jobs_of(stage, request)[0].id, "send")
        with refused("too_late"):
            revoke(stage.bob.person, request_id=request.id, reason="Stop!")
        assert worker.go_on() == "confirmed"


@pytest.mark.parametrize("dies_at", DEATHS)
def test_a_worker_may_die_anywhere(dies_at: str, tool_server: ToolServer) -> None:
    stage, run, request = managed(tool_server)
    job = jobs_of(stage, request)[0]
    with armed():
        assert work_until(job.id, dies_at) == f"died at {dies_at}"
    for _ in range(3):
        make_due(stage, request)
        work(job.id)
    assert tool_server.calls() == 1
    assert stage.fresh(run).state == "running"
    assert jobs_of(stage, request)[0].state == ResumeJob.State.DONE


def test_consuming_waits_for_a_policy_that_is_just_being_changed(
    tool_server: ToolServer,
) -> None:
    """It holds the gate, and commits first: so it counts."""
    stage, _, request = managed(tool_server)
    job, inside, go_on = jobs_of(stage, request)[0], Event(), Event()

    def tighten(verb: Verb) -> None:
        definition = {"verdict": "require_review", "rules": [{"approvals": 2}]}
        alice = stage.house.alice
        add_revision(verb, alice.person.actor, "tight", definition, alice.id)
        inside.set()
        assert go_on.wait(30)

    def in_thread(act: Callable[..., object], *arguments: object) -> object:
        try:
            return act(*arguments)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        changing = pool.submit(
            in_thread, lambda: perform(stage.tenant_id, tighten, gate=Gate.EXCLUSIVE)
        )
        assert inside.wait(30)
        acting = pool.submit(in_thread, work, job.id)
        wait_until(lambda: somebody_waits() or acting.done())
        assert not acting.done(), acting.result()
        go_on.set()
        changing.result()
        assert acting.result() == "authority.policy_changed"
    assert tool_server.calls() == 0


def somebody_waits() -> bool:
    with superuser() as eye:
        waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        return bool(eye.execute(waiting).fetchall())


def test_each_step_of_an_approval_is_on_record(tool_server: ToolServer) -> None:
    stage, run, request = managed(tool_server)
    work_all(stage, request)
    assert kinds_of(stage.tenant_id, request.id) == [
        "request.asked",
        "verification.passed",
    ]
    assert kinds_of(stage.tenant_id, run.id)[-2:] == ["run.resuming", "run.running"]
    trail = trail_of(stage, request)
    assert kinds_of(stage.tenant_id, trail.grant) == ["grant.issued", "grant.consumed"]
    assert kinds_of(stage.tenant_id, trail.effect) == [
        "effect.started",
        "effect.confirmed",
    ]


def test_taking_an_approval_back_is_on_record() -> None:
    stage = fresh_stage()
    request = stage.ask()
    stage.answer(request)
    revoke(stage.bob.person, request_id=request.id, reason="Second thoughts.")
    trail = trail_of(stage, request)
    assert kinds_of(stage.tenant_id, trail.grant) == ["grant.issued", "grant.revoked"]
    assert kinds_of(stage.tenant_id, trail.decision) == [
        "decision.recorded",
        "decision.dismissed",
    ]
    assert kinds_of(stage.tenant_id, request.id)[-1] == "request.revoked"


@dataclass(frozen=True, kw_only=True)
class Trail:
    """The ids of what one approval led to."""

    decision: UUID
    grant: UUID
    effect: UUID | None


def trail_of(stage: Stage, request: Request) -> Trail:
    with tenant_transaction(stage.tenant_id):
        effect = Effect.objects.filter(request=request.id).first()
        return Trail(
            decision=Decision.objects.get(request=request).id,
            grant=Grant.objects.get(request=request).id,
            effect=effect and effect.id,
        )


def test_what_a_broker_lost_is_offered_again_by_a_sweep() -> None:
    stage = fresh_stage()
    request = stage.ask()
    stage.answer(request)
    job = jobs_of(stage, request)[0]
    make_due(stage, request)
    offered: list[object] = []
    with (
        patch.object(sweeping, "publish", offered.append),
        patch.object(sweeping, "MOST", 1_000_000),  # other tests' jobs wait as well
    ):
        sweeping.sweep()
    assert job.id in offered
