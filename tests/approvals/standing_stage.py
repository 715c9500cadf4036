"""A stage on which policy lets a person agree beforehand, and what ends it."""

from typing import Any

from approvals.models import Decision, Request, StandingApproval
from approvals.services.redeem import redeem
from approvals.services.standing import (
    Terms,
    make_standing,
    revoke_standing,
)
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Run
from tenants.services import add_agent_owner
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser

DAY = 86_400
PERMITS = {"expires_within": 7 * DAY, "uses": 3, "open": ["/payee", "/lines"]}
S = Request.State


def permitting(**more: Any) -> Stage:
    stage = fresh_stage()
    stage.policy(standing={**PERMITS, **more})
    return stage


def approved(stage: Stage, **asked: Any) -> Request:
    request = stage.ask(**asked)
    stage.answer(request)
    return request


def made(
    stage: Stage, request: Request | None = None, **terms: Any
) -> StandingApproval:
    return make_standing(
        stage.bob.person,
        request_id=(request or approved(stage)).id,
        terms=Terms(**{"seconds": DAY, "uses": 2, **terms}),
    )


def use(stage: Stage, request: Request, run: Run) -> str:
    """Redeem it; the refusal's code, or nothing where it began."""
    try:
        redeem(stage.house.robot.principal, request_id=request.id, fence=run.fence)
    except Problem as problem:
        return problem.code
    return ""


def own(stage: Stage) -> None:
    """Bob becomes an owner of the agent."""
    add_agent_owner(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        agent_id=stage.house.robot.agent.id,
        member_id=stage.bob.id,
    )


def asked(stage: Stage, **about: Any) -> tuple[Request, Run]:
    run = stage.run()
    return stage.fresh(stage.ask(run, **about)), run


def decision_of(request: Request) -> Decision:
    with tenant_transaction(request.tenant_id):
        return Decision.objects.get(request_id=request.id)


def end_it(stage: Stage, standing: StandingApproval) -> None:
    about = {"standing_id": standing.id, "reason": "No more."}
    revoke_standing(stage.house.alice.person, **about)


def age(stage: Stage, standing: StandingApproval) -> None:
    """Its time is over; signed as it is, the row must go on saying the same."""
    edit("expires_at = clock_timestamp() - interval '1 s'")(stage, standing)


def edit(change: str) -> Any:
    def altered(stage: Stage, standing: StandingApproval) -> None:
        with superuser() as connection:
            statement = f"UPDATE approvals_standingapproval SET {change} WHERE id = %s"
            connection.execute(statement.encode(), [standing.id])

    return altered
