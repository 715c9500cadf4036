"""Nothing is left standing: whatever comes in between, run and effect find an end."""

from typing import Any

import pytest

from approvals.models import Decision, Pause, Request, ResumeJob, Revision
from approvals.resume.job import MOST_ATTEMPTS
from approvals.resume.sweep import sweep
from approvals.resume.work import work
from approvals.services.attention import release_run
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from approvals.services.resolve import resolve_effect
from checkpoints.models import Checkpoint, Effect
from checkpoints.services.tools import change_tool
from kernel.scope import tenant_transaction
from sessions.models import Run
from tenants.services import disable_agent, enable_agent, revoke_key
from tests.approvals.stage import ARGUMENTS, SCHEMA, Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.test_resume import (
    effect_of,
    jobs_of,
    make_due,
    managed,
    told,
    work_all,
)
from tests.approvals.tool_server import ToolServer

V = Decision.Verdict
OTHER = {**ARGUMENTS, "amount": "2.00"}


def started_by_agent(stage: Stage, run: Run, request: Request) -> Effect:
    who = stage.house.robot.principal
    return redeem(who, request_id=request.id, fence=run.fence).effect


def report(stage: Stage, run: Run, effect: Effect, outcome: str) -> Effect:
    return report_effect(
        stage.house.robot.principal,
        effect_id=effect.id,
        attempt=1,
        fence=run.fence,
        outcome=outcome,
    )


def resolve(stage: Stage, effect: Effect, outcome: str) -> None:
    resolve_effect(
        stage.bob.person, effect_id=effect.id, outcome=outcome, evidence="I looked."
    )


@pytest.mark.parametrize("reported", [False, True])
def test_a_worker_leaves_alone_what_the_agent_has_redeemed(reported: bool) -> None:
    """The agent need not wait for the worker's word that it may."""
    stage = fresh_stage()
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request)
    effect = started_by_agent(stage, run, request)
    if reported:
        report(stage, run, effect, "confirmed")
    assert work_all(stage, request) == ["redeemed"]
    if not reported:
        assert effect_of(stage, request).state == Effect.State.STARTED
        report(stage, run, effect, "confirmed")
    assert told(stage, request) == "done"
    assert stage.fresh(run).state == Run.State.RUNNING


@pytest.mark.parametrize("outcome", ["confirmed", "failed", "absent"])
def test_a_person_may_know_before_the_worker_finds_out(
    outcome: str, tool_server: ToolServer
) -> None:
    stage, run, request = managed(tool_server)
    tool_server.current.behaviour = "drop"
    assert work_all(stage, request) == ["unknown"]
    with superuser() as connection:
        connection.execute(
            "UPDATE checkpoints_attempt SET send_before = now() - interval '1 day'"
            " WHERE tenant_id = %s",
            [stage.tenant_id],
        )
    resolve(stage, effect_of(stage, request), outcome)
    assert stage.fresh(run).state == Run.State.RUNNING
    make_due(stage, request)
    assert work_all(stage, request) == ["not_due"]
    assert (effect_of(stage, request).state, tool_server.calls()) == (outcome, 1)


@pytest.mark.parametrize("until", ["all", "each"])
def test_the_others_go_on_once_a_person_has_resolved_one(until: str) -> None:
    stage = fresh_stage()
    run = stage.run()
    first, second = stage.ask_all([{}, {"arguments": OTHER}], run, until=until)
    for one in (first, second):
        stage.answer(one)
    assert work_all(stage, first) == ["ready"]
    effect = started_by_agent(stage, run, first)
    report(stage, run, effect, "unknown")
    assert stage.fresh(run).state == Run.State.NEEDS_ATTENTION
    assert work_all(stage, second) == ["position.needs_attention"]
    resolve(stage, effect, "confirmed")
    assert stage.fresh(run).state == Run.State.PAUSED
    make_due(stage, second)
    assert work_all(stage, second) == ["ready"]


def test_waiting_for_a_person_never_gives_up() -> None:
    stage = fresh_stage()
    run = stage.run()
    first, second = stage.ask_all([{}, {"arguments": OTHER}], run, until="each")
    for one in (first, second):
        stage.answer(one)
    work_all(stage, first)
    report(stage, run, started_by_agent(stage, run, first), "unknown")
    for _ in range(3):
        make_many_attempts(stage, second)
        assert work_all(stage, second) == ["position.needs_attention"]
    assert jobs_of(stage, second)[0].state == ResumeJob.State.RETRY


def make_many_attempts(
    stage: Stage, request: Request, attempts: int = MOST_ATTEMPTS - 1
) -> None:
    make_due(stage, request)
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_resumejob SET attempts = %s WHERE request_id = %s",
            [attempts, request.id],
        )


def test_a_job_that_always_breaks_ends_with_a_person(
    tool_server: ToolServer,
) -> None:
    """It was claimed so often, and each worker was lost before any outcome."""
    stage, run, request = managed(tool_server)
    make_many_attempts(stage, request, MOST_ATTEMPTS)
    assert work_all(stage, request) == ["given_up"]
    assert jobs_of(stage, request)[0].state == ResumeJob.State.DEAD
    assert stage.fresh(run).state == Run.State.NEEDS_ATTENTION
    assert tool_server.calls() == 0


def test_an_outcome_is_kept_though_the_head_was_damaged_meanwhile(
    tool_server: ToolServer,
) -> None:
    stage, run, request = managed(tool_server)
    tool_server.current.behaviour = "commit_then_drop"
    assert work_all(stage, request) == ["unknown"]
    with superuser() as connection:
        connection.execute(
            "UPDATE checkpoints_checkpoint SET payload = 'x' WHERE run_id = %s",
            [run.id],
        )
    make_due(stage, request)
    assert work_all(stage, request) == ["confirmed"]
    assert effect_of(stage, request).state == Effect.State.CONFIRMED
    assert stage.fresh(run).state == Run.State.NEEDS_ATTENTION
    with tenant_transaction(stage.tenant_id):
        assert Checkpoint.objects.filter(run=run).count() == 1


def test_an_agent_is_not_woken_while_it_is_switched_off() -> None:
    stage = fresh_stage()
    house, run = stage.house, stage.run()
    request = stage.ask(run)
    stage.answer(request, verdict=V.REJECT, reason="No.")
    off = {
        "tenant_id": house.id,
        "by": house.alice.id,
        "agent_id": house.robot.agent.id,
    }
    disable_agent(**off)
    make_many_attempts(stage, request)
    assert work_all(stage, request) == ["identity.agent_disabled"]
    assert stage.fresh(run).state == Run.State.PAUSED
    enable_agent(**off)
    make_due(stage, request)
    assert work_all(stage, request) == ["woken"]
    assert stage.fresh(run).state == Run.State.RUNNING


def test_a_run_whose_key_was_revoked_is_put_before_a_person() -> None:
    stage = fresh_stage()
    house, run = stage.house, stage.run()
    request = stage.ask(run)
    stage.answer(request, verdict=V.REJECT, reason="No.")
    revoke_key(tenant_id=house.id, by=house.alice.id, key_id=house.robot.key.id)
    assert work_all(stage, request) == ["identity.key_revoked"]
    assert stage.fresh(run).state == Run.State.NEEDS_ATTENTION


def test_policy_alone_never_asks_itself_for_ever(tool_server: ToolServer) -> None:
    """Allowed at once, but only while a fact holds that does not."""
    stage = fresh_stage("managed", **tool_server.definition())
    stage.let_through("always")
    request = stage.ask(preconditions=({"field": "ready", "equals": True},))
    assert request.state == Request.State.APPROVED
    assert work_all(stage, request) == ["authority.precondition_missing"]
    assert stage.fresh(request).state == Request.State.PENDING
    assert len(jobs_of(stage, request)) == 1


def change(stage: Stage, **fields: Any) -> None:
    tool = stage.tool
    known = {"mode": tool.mode, "risk": tool.risk, "definition": tool.definition}
    change_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        tool_id=tool.id,
        **known | fields,
    )


@pytest.mark.parametrize("meanwhile", ["approved", "changes requested", "edited"])
def test_a_tool_that_became_riskier_is_judged_as_it_is_now(meanwhile: str) -> None:
    stage = fresh_stage()
    stage.policy("critical", selector="risk == 'critical'", rules=[{"approvals": 2}])
    request = stage.ask()
    if meanwhile == "approved":
        stage.answer(request)
    change(stage, risk="critical")
    if meanwhile == "approved":
        assert work_all(stage, request) == ["authority.tool_changed"]
    elif meanwhile == "edited":
        stage.answer(request, verdict=V.EDIT, arguments=OTHER, reason="Less.")
    else:
        from approvals.services.revise import revise

        stage.answer(request, verdict=V.REQUEST_CHANGES, reason="Less.")
        revise(stage.house.robot.principal, request_id=request.id, arguments=OTHER)
    asked = stage.fresh(request)
    assert (asked.revision, asked.risk) == (2, "critical")
    carol = stage.reviewer()
    assert stage.answer(request, by=carol).state == Request.State.PENDING


def test_what_no_longer_fits_the_tool_is_not_asked_again() -> None:
    stage = fresh_stage()
    request = stage.ask()
    stage.answer(request)
    schema = {**SCHEMA, "required": ["payee", "amount", "urgent"]}
    change(stage, definition={**stage.tool.definition, "schema": schema})
    assert work_all(stage, request)[0] == "authority.arguments_invalid"
    assert stage.fresh(request).state == Request.State.REVOKED
    with tenant_transaction(stage.tenant_id):
        assert Revision.objects.filter(request=request).count() == 1


def test_an_unknown_effect_of_an_agent_is_left_to_a_person_and_not_to_each_sweep() -> (
    None
):
    """Else many of them would hide from a bounded sweep what is due after them."""
    stage = fresh_stage()
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request)
    work_all(stage, request)
    effect = started_by_agent(stage, run, request)
    report(stage, run, effect, "unknown")
    with superuser() as connection:
        connection.execute(
            "UPDATE checkpoints_effect SET due_at = now() - interval '1 min'"
            " WHERE id = %s",
            [effect.id],
        )
    sweep()
    now = effect_of(stage, request)
    assert (now.state, now.due_at) == (Effect.State.NEEDS_ATTENTION, None)
    resolve(stage, effect, "confirmed")
    assert stage.fresh(run).state == Run.State.RUNNING
    with tenant_transaction(stage.tenant_id):
        assert Pause.objects.get(run=run).closed_at is not None


def test_the_time_a_policy_adds_is_waited_for_however_long() -> None:
    stage = fresh_stage()
    request = stage.ask()
    stage.answer(request)
    stage.policy(wait=86_400)
    make_many_attempts(stage, request)
    job = jobs_of(stage, request)[0]
    assert work(job.id) == "authority.waiting"
    assert jobs_of(stage, request)[0].state == ResumeJob.State.RETRY


def test_a_run_that_a_person_lets_go_on_does_not_stay_paused_for_nothing() -> None:
    stage = fresh_stage()
    house, run = stage.house, stage.run()
    request = stage.ask(run)
    stage.answer(request, verdict=V.REJECT, reason="No.")
    revoke_key(tenant_id=house.id, by=house.alice.id, key_id=house.robot.key.id)
    work_all(stage, request)
    assert stage.fresh(run).state == Run.State.NEEDS_ATTENTION
    release_run(house.alice.person, run_id=run.id, reason="It has a new key.")
    assert stage.fresh(run).state == Run.State.RUNNING


def test_what_waits_for_all_waits_again_for_one_that_is_asked_again(
    tool_server: ToolServer,
) -> None:
    stage = fresh_stage("managed", **tool_server.definition())
    missing = ({"field": "ready", "equals": True},)
    first, second = stage.ask_all([{"preconditions": missing}, {"arguments": OTHER}])
    for one in (first, second):
        stage.answer(one)
    assert work_all(stage, first) == ["authority.precondition_missing"]
    assert work_all(stage, second) == ["pause_undecided"]
    assert tool_server.calls() == 0
    stage.answer(first, verdict=V.REJECT, reason="No.")
    make_due(stage, second)
    assert work_all(stage, second) == ["confirmed"]
