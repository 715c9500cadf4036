"""From a decision to the run's next step: acting, recovering, waking, sweeping."""

from typing import Any

import pytest

from approvals.models import (
    Decision,
    Grant,
    Pause,
    Request,
    ResumeJob,
    VerificationReport,
)
from approvals.reading import next_step, snapshot
from approvals.resume.job import claim
from approvals.resume.sweep import sweep
from approvals.resume.work import work
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from approvals.services.resolve import resolve_effect
from checkpoints.models import Attempt, Checkpoint, Effect
from checkpoints.services.tools import change_tool
from checkpoints.vault import open_payload
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Run
from sessions.services.runs import claim_run
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.tool_server import ToolServer

V = Decision.Verdict


def jobs_of(stage: Stage, request: Request) -> list[ResumeJob]:
    with tenant_transaction(stage.tenant_id):
        return list(ResumeJob.objects.filter(request=request).order_by("id"))


def work_all(stage: Stage, request: Request) -> list[str]:
    return [work(job.id) for job in jobs_of(stage, request)]


def make_due(stage: Stage, request: Request) -> None:
    """Time passes for the request's job and its attempts: by the database's rows."""
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_resumejob SET due_at = now() - interval '5 s'"
            " WHERE request_id = %s AND due_at IS NOT NULL",
            [request.id],
        )
        connection.execute(
            "UPDATE checkpoints_attempt SET send_before = now() - interval '1 day'"
            " WHERE tenant_id = %s",
            [stage.tenant_id],
        )


def effect_of(stage: Stage, request: Request) -> Effect:
    with tenant_transaction(stage.tenant_id):
        return Effect.objects.get(request=request.id)


def told(stage: Stage, request: Request) -> str:
    """What the agent reads as its next step."""
    with tenant_transaction(stage.tenant_id):
        rows = Request.objects.select_related("tool", "queue")
        return next_step(snapshot(rows.get(id=request.id)))


def managed(server: ToolServer, **terms: Any) -> tuple[Stage, Run, Request]:
    stage = fresh_stage("managed", **server.definition(**terms))
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request)
    return stage, run, request


def test_a_managed_action_ends_the_step_and_the_run_goes_on(
    tool_server: ToolServer,
) -> None:
    stage, run, request = managed(tool_server)
    assert told(stage, request) == "wait"
    assert work_all(stage, request) == ["confirmed"]
    assert told(stage, request) == "done"
    with tenant_transaction(stage.tenant_id):
        after = Run.objects.get(id=run.id)
        head = Checkpoint.objects.get(run=run, number=after.head_number)
        assert after.state == Run.State.RUNNING
        assert list(head.closes) == [request.id]
        assert open_payload(head, session_id=after.session_id) == b"{}"
        assert head.header["markers"][str(request.id)]["external_id"] == "EX-1"
        assert Pause.objects.get(run=run).closed_at is not None
    again = claim_run(who=stage.house.robot.principal, run_id=run.id)
    assert again.fence > run.fence


def test_a_tool_that_says_no_failed(tool_server: ToolServer) -> None:
    stage, _, request = managed(tool_server)
    tool_server.current.behaviour = "refuse"
    assert work_all(stage, request) == ["failed"]
    assert told(stage, request) == "done"
    assert effect_of(stage, request).state == Effect.State.FAILED


@pytest.mark.parametrize("behaviour", ["commit_then_drop"])
def test_a_lost_answer_is_unknown_until_the_tool_proves_it(
    behaviour: str, tool_server: ToolServer
) -> None:
    stage, _, request = managed(tool_server)
    tool_server.current.behaviour = behaviour
    assert work_all(stage, request) == ["unknown"]
    assert told(stage, request) == "wait"
    make_due(stage, request)
    assert work_all(stage, request) == ["confirmed"]
    effect = effect_of(stage, request)
    assert (effect.state, effect.external_id) == ("confirmed", "EX-1")
    assert tool_server.calls() == 1


def test_not_found_allows_another_attempt_only_when_it_has_settled(
    tool_server: ToolServer,
) -> None:
    stage, _, request = managed(tool_server)
    tool_server.current.behaviour = "error"
    assert work_all(stage, request) == ["unknown"]
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_resumejob SET due_at = now() WHERE request_id = %s",
            [request.id],
        )
    assert work_all(stage, request) == ["effects.settling"]
    tool_server.current.behaviour = "confirm"
    make_due(stage, request)
    assert work_all(stage, request) == ["confirmed"]
    assert len(set(tool_server.keys())) == 1
    with tenant_transaction(stage.tenant_id):
        assert [one.number for one in Attempt.objects.order_by("number")] == [1, 2]
        fences = [one.fence for one in Attempt.objects.order_by("number")]
        assert fences == sorted(fences)


def test_what_nothing_can_prove_needs_a_person(tool_server: ToolServer) -> None:
    stage, run, request = managed(tool_server)
    definition = {k: v for k, v in stage.tool.definition.items() if k != "status_url"}
    assert definition
    tool_server.current.behaviour = "drop"
    with superuser() as connection:
        connection.execute(
            "UPDATE checkpoints_tool SET definition = definition - 'status_url'"
            " WHERE id = %s",
            [stage.tool.id],
        )
    assert work_all(stage, request) == ["unknown"]
    make_due(stage, request)
    assert work_all(stage, request) == ["effect.needs_attention"]
    assert effect_of(stage, request).state == Effect.State.NEEDS_ATTENTION
    assert stage.fresh(run).state == Run.State.NEEDS_ATTENTION
    assert tool_server.calls() == 1


def test_a_person_records_the_outcome_with_its_proof(tool_server: ToolServer) -> None:
    stage = fresh_stage()
    run, who = stage.run(), stage.house.robot.principal
    request = stage.ask(run)
    stage.answer(request)
    work_all(stage, request)
    started = redeem(who, request_id=request.id, fence=run.fence)
    report_effect(
        who,
        effect_id=started.effect.id,
        attempt=1,
        fence=run.fence,
        outcome="unknown",
    )
    assert stage.fresh(run).state == Run.State.NEEDS_ATTENTION
    known = {"effect_id": started.effect.id, "outcome": "confirmed"}
    with pytest.raises(Problem, match="evidence_needed"):
        resolve_effect(stage.bob.person, **known, evidence=" ")
    with pytest.raises(Problem, match="not_found"):
        resolve_effect(stage.house.charlie.person, **known, evidence="I saw it.")
    resolve_effect(
        stage.bob.person, **known, evidence="Seen in the bank.", external_id="B-1"
    )
    assert told(stage, request) == "done"
    assert stage.fresh(run).state == Run.State.RUNNING
    with pytest.raises(Problem, match="outcome_conflict"):
        resolve_effect(stage.bob.person, **known, evidence="Again.")


def test_a_worker_lost_after_sending_doubles_nothing(tool_server: ToolServer) -> None:
    """It consumed and sent, and died before it could say so."""
    stage, _, request = managed(tool_server)
    job = jobs_of(stage, request)[0]
    from approvals.resume import act as acting

    claimed = claim(job.id)
    assert claimed is not None
    step = acting.perform(claimed.tenant_id, lambda verb: acting._verify(verb, claimed))
    acting.send_and_settle.__globals__["call"](  # the tool gets it, nobody records it
        step.tool,
        key=bytes(step.effect.key),
        effect_id=step.effect.id,
        attempt=1,
        fence=step.fence,
        not_after=step.attempt.send_before,
        arguments=step.action.arguments,
    )
    make_due(stage, request)
    assert work(job.id) == "confirmed"
    assert tool_server.calls() == 1
    assert effect_of(stage, request).external_id == "EX-1"


@pytest.mark.parametrize(
    ("verdict", "extra", "step"),
    [
        (V.REJECT, {"reason": "No."}, "stop"),
        (V.RESPOND, {"response": "Use the old price."}, "use_answer"),
    ],
)
def test_an_answer_without_an_action_wakes_the_agent(
    verdict: str, extra: dict[str, Any], step: str
) -> None:
    stage = fresh_stage()
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request, verdict=verdict, **extra)
    assert told(stage, request) == "wait"
    assert work_all(stage, request) == ["woken"]
    assert told(stage, request) == step
    assert stage.fresh(run).state == Run.State.RUNNING


def test_each_lets_one_question_go_on_before_the_others(
    tool_server: ToolServer,
) -> None:
    stage = fresh_stage("managed", **tool_server.definition())
    run = stage.run()
    other = {**ARGUMENTS, "amount": "2.00"}
    first, second = stage.ask_all([{}, {"arguments": other}], run, until="each")
    stage.answer(first)
    assert work_all(stage, first) == ["confirmed"]
    assert stage.fresh(run).state == Run.State.PAUSED
    stage.answer(second)
    assert work_all(stage, second) == ["confirmed"]
    assert stage.fresh(run).state == Run.State.RUNNING
    assert len(set(tool_server.keys())) == 2


def test_a_wait_holds_the_action_back(tool_server: ToolServer) -> None:
    stage = fresh_stage("managed", **tool_server.definition())
    stage.policy(wait=3600)
    request = stage.ask()
    stage.answer(request)
    assert work_all(stage, request) == ["not_due"]
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_resumejob SET due_at = now() WHERE request_id = %s",
            [request.id],
        )
    assert work_all(stage, request) == ["authority.waiting"]
    assert tool_server.calls() == 0
    assert jobs_of(stage, request)[0].state == ResumeJob.State.RETRY


def test_sweeps_record_what_the_clock_has_decided() -> None:
    stage = fresh_stage()
    late, unused = stage.ask(), stage.ask()
    stage.answer(unused)
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_request SET due_at = now() - interval '1 min'"
            " WHERE id = %s",
            [late.id],
        )
        connection.execute(
            "UPDATE approvals_grant SET not_before = now() - interval '3 h',"
            " expires_at = now() - interval '1 h', due_at = now() - interval '1 h'"
            " WHERE request_id = %s",
            [unused.id],
        )
    sweep()
    assert stage.fresh(late).state == Request.State.EXPIRED
    assert stage.fresh(unused).state == Request.State.LAPSED
    with tenant_transaction(stage.tenant_id):
        assert Grant.objects.get(request=unused).state == Grant.State.LAPSED
    sweep()
    assert stage.fresh(late).state == Request.State.EXPIRED


def test_a_reopened_question_tells_why_and_acts_once_agreed_again(
    tool_server: ToolServer,
) -> None:
    stage, _, request = managed(tool_server)
    carol = stage.reviewer()
    stage.policy(rules=[{"approvals": 2}])
    assert work_all(stage, request) == ["authority.policy_changed"]
    reopened = stage.fresh(request)
    assert (reopened.state, reopened.revision) == (Request.State.PENDING, 2)
    assert reopened.resolution == "Policy asks for more than was agreed."
    stage.answer(request)
    stage.answer(request, by=carol)
    assert work_all(stage, request)[-1] == "confirmed"
    assert tool_server.calls() == 1
    with tenant_transaction(stage.tenant_id):
        doors = VerificationReport.objects.order_by("created_at")
        assert [one.passed for one in doors] == [False, True]


def test_no_further_attempt_under_another_definition(tool_server: ToolServer) -> None:
    """Nothing is known to have happened, and where it would go now was not agreed."""
    stage, run, request = managed(tool_server)
    tool_server.current.behaviour = "error"
    assert work_all(stage, request) == ["unknown"]
    change_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        tool_id=stage.tool.id,
        mode="managed",
        risk="high",
        definition={**stage.tool.definition, "timeout": 9},
    )
    make_due(stage, request)
    assert work_all(stage, request) == ["absent"]
    assert tool_server.calls() == 1
    assert stage.fresh(run).state == Run.State.RUNNING


def test_a_person_records_only_how_it_ended(tool_server: ToolServer) -> None:
    stage, _, request = managed(tool_server)
    with pytest.raises(Problem, match="resolution_unknown"):
        resolve_effect(
            stage.bob.person,
            effect_id=request.id,
            outcome="needs_attention",
            evidence="?",
        )
