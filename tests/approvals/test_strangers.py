"""Whoever has nothing to do with a request finds nothing, through every verb."""

from collections.abc import Callable
from typing import Any

import pytest

from approvals.models import Decision, Request
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from approvals.services.resolve import resolve_effect
from approvals.services.revise import revise, withdraw
from approvals.services.revoke import revoke
from approvals.services.taking_back import take_back
from checkpoints.models import Effect
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.test_resume import work_all
from tests.factories import Machine, Somebody, fresh_agent, fresh_member
from tests.refusals import refused

AGENTS: dict[str, Callable[[Machine, Request, Effect], Any]] = {
    "redeem": lambda other, request, _: redeem(
        other.principal, request_id=request.id, fence=1
    ),
    "revise": lambda other, request, _: revise(
        other.principal, request_id=request.id, arguments=ARGUMENTS
    ),
    "withdraw": lambda other, request, _: withdraw(
        other.principal, request_id=request.id, reason="Mine."
    ),
    "report": lambda other, _, effect: report_effect(
        other.principal, effect_id=effect.id, attempt=1, fence=1, outcome="failed"
    ),
}
PEOPLE: dict[str, Callable[[Stage, Somebody, Request, Effect], Any]] = {
    "decide": lambda stage, who, request, _: stage.answer(
        request, by=who, verdict=Decision.Verdict.REJECT, reason="No."
    ),
    "take back": lambda stage, who, request, _: take_back(
        who.person, request_id=request.id, digest=stage.digest(request)
    ),
    "revoke": lambda _, who, request, __: revoke(
        who.person, request_id=request.id, reason="No."
    ),
    "resolve": lambda _, who, __, effect: resolve_effect(
        who.person, effect_id=effect.id, outcome="failed", evidence="I say so."
    ),
}


def under_way() -> tuple[Stage, Request, Effect]:
    """A request whose action its own agent has begun."""
    stage = fresh_stage()
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request)
    work_all(stage, request)
    started = redeem(
        stage.house.robot.principal, request_id=request.id, fence=run.fence
    )
    return stage, request, started.effect


@pytest.mark.parametrize("verb", AGENTS)
def test_another_agent_of_the_same_tenant_finds_nothing(verb: str) -> None:
    stage, request, effect = under_way()
    other = fresh_agent(stage.house.alice, name="other")
    with refused("not_found", status=404):
        AGENTS[verb](other, request, effect)


@pytest.mark.parametrize("verb", PEOPLE)
def test_a_member_who_does_not_see_the_queue_finds_nothing(verb: str) -> None:
    stage, request, effect = under_way()
    outsider = fresh_member(stage.house.alice, "Olga")
    with refused("not_found", status=404):
        PEOPLE[verb](stage, outsider, request, effect)
