"""An agent carries out what was approved: redeems, acts, reports, or is lost on the way."""

import pytest

from approvals.resume.sweep import sweep
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from checkpoints.models import Effect
from kernel.problems import Problem
from sessions.models import Run
from sessions.services.runs import claim_run
from tests.approvals.stage import ARGUMENTS, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.test_resume import (
    V,
    effect_of,
    told,
    work_all,
)


def test_an_agent_redeems_acts_and_reports() -> None:
    stage = fresh_stage()
    run, who = stage.run(), stage.house.robot.principal
    request = stage.ask(run)
    stage.answer(request)
    assert told(stage, request) == "wait"
    assert work_all(stage, request) == ["ready"]
    assert told(stage, request) == "redeem"
    started = redeem(who, request_id=request.id, fence=run.fence)
    assert started.action.arguments == ARGUMENTS
    again = redeem(who, request_id=request.id, fence=run.fence)
    assert (again.effect.id, again.attempt.id) == (
        started.effect.id,
        started.attempt.id,
    )
    with pytest.raises(Problem, match="stale_writer"):
        redeem(who, request_id=request.id, fence=run.fence + 1)
    effect = report_effect(
        who,
        effect_id=started.effect.id,
        attempt=1,
        fence=run.fence,
        outcome="confirmed",
        external_id="CR-771",
    )
    assert effect.state == Effect.State.CONFIRMED
    assert told(stage, request) == "done"
    assert stage.fresh(run).state == Run.State.RUNNING
    with pytest.raises(Problem, match="outcome_conflict"):
        report_effect(
            who,
            effect_id=started.effect.id,
            attempt=1,
            fence=run.fence,
            outcome="failed",
        )


def test_an_agent_killed_after_redeeming_reports_under_its_new_fence() -> None:
    stage = fresh_stage()
    run, who = stage.run(), stage.house.robot.principal
    request = stage.ask(run)
    stage.answer(request)
    work_all(stage, request)
    started = redeem(who, request_id=request.id, fence=run.fence)
    newer = claim_run(who=who, run_id=run.id)
    again = redeem(who, request_id=request.id, fence=newer.fence)
    assert again.effect.id == started.effect.id
    effect = report_effect(
        who,
        effect_id=started.effect.id,
        attempt=1,
        fence=newer.fence,
        outcome="confirmed",
    )
    assert effect.state == Effect.State.CONFIRMED


def test_an_action_that_was_never_reported_needs_a_person() -> None:
    stage = fresh_stage()
    run, who = stage.run(), stage.house.robot.principal
    request = stage.ask(run)
    stage.answer(request)
    work_all(stage, request)
    redeem(who, request_id=request.id, fence=run.fence)
    with superuser() as connection:
        connection.execute(
            "UPDATE checkpoints_effect SET due_at = now() - interval '1 min'"
            " WHERE request = %s",
            [request.id],
        )
    sweep()
    assert effect_of(stage, request).state in {"unknown", "needs_attention"}
    assert stage.fresh(run).state == Run.State.NEEDS_ATTENTION


def test_nothing_is_redeemed_before_the_whole_pause_is_decided() -> None:
    stage = fresh_stage()
    run, who = stage.run(), stage.house.robot.principal
    other = {**ARGUMENTS, "amount": "2.00"}
    first, second = stage.ask_all([{}, {"arguments": other}], run)
    stage.answer(first)
    with pytest.raises(Problem, match="pause_undecided"):
        redeem(who, request_id=first.id, fence=run.fence)
    stage.answer(second, verdict=V.REJECT, reason="No.")
    assert redeem(who, request_id=first.id, fence=run.fence).attempt.number == 1
