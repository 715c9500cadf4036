"""The stop switch: what was granted is not used, what was asked is taken back.

For an agent, a tool and the whole tenant; by those who may, and for nobody else's.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from approvals.models import Grant, Request
from approvals.resume.work import work
from approvals.services import stopping
from approvals.services.redeem import redeem
from approvals.services.stopping import TakenBack, Target, start_again, stop
from audit.models import Entry
from checkpoints.models import Effect, Tool
from checkpoints.services.tools import register_tool
from kernel.ids import new_id
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Run
from tenants.models import Agent, Role, Tenant
from tenants.services import disable_agent
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.test_resume import jobs_of, make_due, managed, work_all
from tests.approvals.tool_server import ToolServer
from tests.chain import kinds_of
from tests.concurrency import together
from tests.factories import Somebody, fresh_agent, fresh_member
from tests.machine.workers import Held, armed
from tests.refusals import refused

type Aim = Callable[[Stage], Target]


def at_agent(stage: Stage) -> Target:
    return Target(agent_id=stage.house.robot.agent.id)


def at_tool(stage: Stage) -> Target:
    return Target(tool_id=stage.tool.id)


def at_tenant(_: Stage) -> Target:
    return Target()


AIMS = [at_agent, at_tool, at_tenant]


def turn(
    verb: Callable[..., TakenBack],
    stage: Stage,
    target: Target,
    by: Somebody | None = None,
    reason: str = "It pays twice.",
) -> TakenBack:
    who = by or stage.house.alice
    return verb(tenant_id=stage.tenant_id, by=who.id, target=target, reason=reason)


def approved(stage: Stage) -> tuple[Run, Request]:
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request)
    return run, request


def redeem_it(stage: Stage, run: Run, request: Request) -> Any:
    who = stage.house.robot.principal
    return redeem(who, request_id=request.id, fence=run.fence)


def grants(stage: Stage) -> list[str]:
    with tenant_transaction(stage.tenant_id):
        return list(Grant.objects.order_by("id").values_list("state", flat=True))


def effects(stage: Stage) -> int:
    with tenant_transaction(stage.tenant_id):
        return Effect.objects.count()


def is_off(stage: Stage, target: Target) -> bool:
    with tenant_transaction(stage.tenant_id):
        if target.agent_id is not None:
            return not Agent.objects.get(id=target.agent_id).enabled
        if target.tool_id is not None:
            return not Tool.objects.get(id=target.tool_id).enabled
        return Tenant.objects.get(id=stage.tenant_id).state == Tenant.State.STOPPED


@pytest.mark.parametrize("aim", AIMS)
def test_a_grant_of_before_is_never_used(aim: Aim) -> None:
    stage = fresh_stage()
    run, request = approved(stage)
    assert turn(stop, stage, aim(stage)) == TakenBack(requests=1, grants=1)
    assert is_off(stage, aim(stage))
    assert grants(stage) == ["revoked"]
    with refused("not_approved"):
        redeem_it(stage, run, request)
    turn(start_again, stage, aim(stage))
    assert not is_off(stage, aim(stage))
    with refused("not_approved"):
        redeem_it(stage, run, request)
    assert effects(stage) == 0


@pytest.mark.parametrize("aim", AIMS)
def test_a_pending_request_is_cancelled_and_its_agent_told_once_it_may_go_on(
    aim: Aim,
) -> None:
    stage = fresh_stage()
    run = stage.run()
    request = stage.ask(run)
    assert turn(stop, stage, aim(stage)) == TakenBack(requests=1)
    ended = stage.fresh(request)
    assert (ended.state, ended.due_at) == (Request.State.CANCELLED, None)
    assert ended.resolution == "Stopped: It pays twice."
    turn(start_again, stage, aim(stage))
    assert stage.fresh(request).state == Request.State.CANCELLED
    make_due(stage, request)
    assert work_all(stage, request) == ["woken"]
    assert stage.fresh(run).state == Run.State.RUNNING


def test_nobody_is_woken_while_the_switch_is_off() -> None:
    stage = fresh_stage()
    run = stage.run()
    request = stage.ask(run)
    turn(stop, stage, at_agent(stage))
    assert work_all(stage, request) == ["identity.agent_disabled"]
    assert stage.fresh(run).state == Run.State.PAUSED


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("_", range(5))
def test_of_a_stop_and_a_use_at_once_one_is_first(aim: Aim, _: int) -> None:
    stage = fresh_stage()
    run, request = approved(stage)
    stopped, used = together(
        lambda: turn(stop, stage, aim(stage)),
        lambda: redeem_it(stage, run, request),
    )
    assert isinstance(stopped, TakenBack)
    if isinstance(used, Problem):
        assert (grants(stage), effects(stage)) == (["revoked"], 0)
    else:
        assert (grants(stage), effects(stage)) == (["consumed"], 1)
        assert stopped == TakenBack()


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("_", range(5))
def test_of_a_stop_and_a_decision_at_once_nothing_is_left_to_be_used(
    aim: Aim, _: int
) -> None:
    stage = fresh_stage()
    request = stage.ask()
    together(lambda: turn(stop, stage, aim(stage)), lambda: stage.answer(request))
    assert "live" not in grants(stage)
    assert stage.fresh(request).state == Request.State.CANCELLED


def test_what_is_being_sent_is_not_recalled(tool_server: ToolServer) -> None:
    stage, _, request = managed(tool_server)
    with armed():
        worker = Held(jobs_of(stage, request)[0].id, "send")
        assert turn(stop, stage, at_tool(stage)) == TakenBack()
        assert worker.go_on() == "confirmed"


def test_a_worker_sends_nothing_of_a_stopped_tool(tool_server: ToolServer) -> None:
    stage, _, request = managed(tool_server)
    (job,) = jobs_of(stage, request)
    turn(stop, stage, at_tool(stage))
    work(job.id)
    assert effects(stage) == 0


def second_agent(stage: Stage) -> Stage:
    """The same house, with another program in it that asks."""
    other = fresh_agent(stage.house.alice, name="mailer")
    return Stage(
        house=replace(stage.house, robot=other), queue=stage.queue, tool=stage.tool
    )


def test_another_agents_work_goes_on() -> None:
    stage = fresh_stage()
    other = second_agent(stage)
    stage.ask()
    run, request = approved(other)
    waiting = other.ask()
    assert turn(stop, stage, at_agent(stage)) == TakenBack(requests=1)
    assert redeem_it(other, run, request).attempt.number == 1
    assert stage.fresh(waiting).state == Request.State.PENDING


def test_another_tools_questions_stay_also_beside_in_one_pause() -> None:
    stage = fresh_stage()
    register_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        name="tag",
        mode="agent",
        risk="low",
        definition={},
    )
    run = stage.run()
    paying, tagging = stage.ask_all([{}, {"tool": "tag"}], run)
    stage.answer(tagging)
    assert turn(stop, stage, at_tool(stage)) == TakenBack(requests=1)
    assert stage.fresh(paying).state == Request.State.CANCELLED
    assert stage.fresh(tagging).state == Request.State.APPROVED
    assert redeem_it(stage, run, tagging).attempt.number == 1


@pytest.mark.parametrize("verb", [stop, start_again])
@pytest.mark.parametrize("aim", AIMS)
def test_a_reviewer_may_not(aim: Aim, verb: Callable[..., TakenBack]) -> None:
    stage = fresh_stage()
    request = stage.ask()
    for role in (Role.REVIEWER, Role.AUDITOR, Role.DEVELOPER):
        other = fresh_member(stage.house.alice, "Dora", role=role)
        with refused("not_permitted"):
            turn(verb, stage, aim(stage), by=other)
    assert not is_off(stage, aim(stage))
    assert stage.fresh(request).state == Request.State.PENDING


def test_an_admin_stops_an_agent_and_only_an_owner_the_tenant() -> None:
    stage = fresh_stage()
    admin = fresh_member(stage.house.alice, "Ada", role=Role.ADMIN)
    for verb in (stop, start_again):
        with refused("not_permitted"):
            turn(verb, stage, at_tenant(stage), by=admin)
    turn(stop, stage, at_agent(stage), by=admin)
    assert is_off(stage, at_agent(stage))


@pytest.mark.parametrize("aim", [at_agent, at_tool])
def test_a_neighbour_finds_nothing_to_stop(aim: Aim) -> None:
    stage, other = fresh_stage(), fresh_stage()
    request = stage.ask()
    with refused("not_found"):
        turn(stop, other, aim(stage))
    with refused("not_found"):
        turn(stop, stage, aim(stage), by=other.house.alice)
    assert not is_off(stage, aim(stage))
    assert stage.fresh(request).state == Request.State.PENDING


def test_a_neighbours_questions_stay_when_a_tenant_stops() -> None:
    stage, other = fresh_stage(), fresh_stage()
    request = other.ask()
    turn(stop, stage, at_tenant(stage))
    assert stage.fresh(stage.tool).enabled
    assert other.fresh(request).state == Request.State.PENDING


@pytest.mark.parametrize("aim", AIMS)
def test_twice_is_as_once(aim: Aim) -> None:
    stage = fresh_stage()
    stage.ask()
    turn(stop, stage, aim(stage))
    before = entries(stage)
    assert turn(stop, stage, aim(stage)) == TakenBack()
    assert entries(stage) == before
    turn(start_again, stage, aim(stage))
    before = entries(stage)
    assert turn(start_again, stage, aim(stage)) == TakenBack()
    assert entries(stage) == before


def entries(stage: Stage) -> int:
    with tenant_transaction(stage.tenant_id):
        return Entry.objects.count()


def test_what_is_much_is_taken_back_in_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stopping, "STEP", 2)
    stage = fresh_stage()
    requests = [stage.ask() for _ in range(4)]
    approved(stage)
    assert turn(stop, stage, at_agent(stage)) == TakenBack(requests=5, grants=1)
    assert {stage.fresh(one).state for one in requests} == {"cancelled"}


def test_a_stop_that_was_broken_off_is_ended_before_work_begins_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first step committed: off, and two of three are taken back."""
    monkeypatch.setattr(stopping, "STEP", 2)
    stage = fresh_stage()
    for _ in range(3):
        approved(stage)
    steps = iter([True])

    def broken_off(*args: Any, **kwargs: Any) -> Any:
        if not next(steps, False):
            raise KeyboardInterrupt
        return perform(*args, **kwargs)

    perform = stopping.perform
    monkeypatch.setattr(stopping, "perform", broken_off)
    with pytest.raises(KeyboardInterrupt):
        turn(stop, stage, at_agent(stage))
    monkeypatch.setattr(stopping, "perform", perform)
    assert is_off(stage, at_agent(stage))
    assert sorted(grants(stage)) == ["live", "revoked", "revoked"]
    assert turn(start_again, stage, at_agent(stage)).grants == 1
    assert set(grants(stage)) == {"revoked"}


def test_nothing_of_an_agent_that_was_merely_disabled_comes_back_either() -> None:
    stage = fresh_stage()
    agent = stage.house.robot.agent.id
    approved(stage)
    disable_agent(tenant_id=stage.tenant_id, by=stage.house.alice.id, agent_id=agent)
    assert turn(start_again, stage, at_agent(stage)).grants == 1


@pytest.mark.parametrize("reason", ["", " \n"])
def test_a_reason_is_needed(reason: str) -> None:
    stage = fresh_stage()
    for verb in (stop, start_again):
        with refused("reason_needed", pointer="/reason"):
            turn(verb, stage, at_agent(stage), reason=reason)
    assert not is_off(stage, at_agent(stage))


def said(stage: Stage, subject: UUID, kind: str) -> Any:
    with tenant_transaction(stage.tenant_id):
        return Entry.objects.get(subject_id=subject, kind=kind)


@pytest.mark.parametrize(
    ("aim", "off", "on"),
    [
        (at_agent, "agent.disabled", "agent.enabled"),
        (at_tool, "tool.disabled", "tool.enabled"),
        (at_tenant, "tenant.stopped", "tenant.active"),
    ],
)
def test_the_log_has_who_why_and_what_was_taken_back(
    aim: Aim, off: str, on: str
) -> None:
    stage = fresh_stage()
    _, request = approved(stage)
    target = aim(stage)
    subject = target.agent_id or target.tool_id or stage.tenant_id
    turn(stop, stage, target, reason=" Its key kt_live leaked. ")
    turn(start_again, stage, target, reason="Looked at it.")
    stopped, started = said(stage, subject, off), said(stage, subject, on)
    assert stopped.data["reason"] == "Its key kt_live leaked."
    assert started.data["reason"] == "Looked at it."
    assert stopped.actor_id == str(stage.house.alice.id)
    assert kinds_of(stage.tenant_id, request.id)[-1] == "request.cancelled"


def test_a_credential_in_the_reason_is_marked() -> None:
    stage = fresh_stage()
    turn(stop, stage, at_agent(stage), reason=f"Leaked: {stage.house.robot.text}")
    entry = said(stage, stage.house.robot.agent.id, "agent.disabled")
    assert stage.house.robot.text not in str(entry.data)


def test_what_does_not_exist_is_not_found() -> None:
    stage = fresh_stage()
    for target in (Target(agent_id=new_id()), Target(tool_id=new_id())):
        for verb in (stop, start_again):
            with refused("not_found"):
                turn(verb, stage, target)
