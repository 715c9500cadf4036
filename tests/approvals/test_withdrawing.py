"""The agent takes its question back: what ends with it, and what is kept of why."""

import pytest

from approvals.models import (
    Decision,
    Grant,
    Request,
)
from approvals.services.revise import withdraw
from audit.models import Entry
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.test_decide import in_database, refused

V = Decision.Verdict


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def test_the_agent_may_take_its_question_back(stage: Stage) -> None:
    request, who = stage.ask(), stage.house.robot.principal
    stage.answer(request)
    withdraw(who, request_id=request.id, reason="Not needed.")
    assert stage.fresh(request).state == Request.State.CANCELLED
    assert in_database(stage, request)[1][0].state == Grant.State.REVOKED


def test_a_secret_in_why_it_is_taken_back_is_kept_nowhere(stage: Stage) -> None:
    request, secret = stage.ask(), f"ghp_{'k4Xq9Zt2' * 4}abcd"
    stage.answer(request)
    withdraw(
        stage.house.robot.principal, request_id=request.id, reason=f"It is {secret}."
    )
    grant = in_database(stage, request)[1][0]
    with tenant_transaction(stage.tenant_id):
        entries = Entry.objects.filter(subject_id__in=[request.id, grant.id])
        recorded = str([entry.data for entry in entries])
    for kept in (grant.reason, stage.fresh(request).resolution, recorded):
        assert secret not in kept


def test_what_ended_otherwise_cannot_be_withdrawn(stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request, verdict=V.REJECT, reason="No.")
    with refused("already_decided"):
        withdraw(
            stage.house.robot.principal, request_id=request.id, reason="Never mind."
        )
