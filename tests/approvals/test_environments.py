"""What was asked with a key for tests, a key for production neither uses nor ends."""

import json
from typing import Any

import pytest

from approvals.models import Decision, Grant, Request
from approvals.services.redeem import redeem
from checkpoints.models import Effect
from kernel.scope import tenant_transaction
from tests.api import Api
from tests.approvals.aap.test_wire import PLACE, submission
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.test_resume import managed, work_all
from tests.approvals.test_strangers import AGENTS, under_way
from tests.approvals.tool_server import ToolServer
from tests.factories import Machine, fresh_key, unique
from tests.refusals import refused

CODE = "environment_differs"


def of_production(stage: Stage) -> Machine:
    """The same agent's."""
    house = stage.house
    return fresh_key(house.alice, house.robot.agent, environment="production")


def approved(stage: Stage) -> tuple[Request, int]:
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request)
    return request, run.fence


def standing(request: Request) -> tuple[str, set[str], int]:
    with tenant_transaction(request.tenant_id):
        return (
            Request.objects.get(id=request.id).state,
            set(Grant.objects.filter(request=request).values_list("state", flat=True)),
            Effect.objects.filter(request=request.id).count(),
        )


def aap(machine: Machine, path: str, body: Any = "", key: str = "") -> Any:
    return machine.client().generic(
        "POST",
        f"{PLACE}{path}",
        body and json.dumps(body),
        content_type="application/json",
        headers={"Idempotency-Key": key or unique()},
    )


@pytest.mark.parametrize("verb", ["redeem", "withdraw"])
def test_a_wrong_key_leaves_the_approval_to_the_right_one(verb: str) -> None:
    stage = fresh_stage()
    request, fence = approved(stage)
    before = standing(request)
    with refused(CODE, status=409):
        AGENTS[verb](of_production(stage), request, Effect())
    assert standing(request) == before == ("approved", {"live"}, 0)
    redeem(stage.house.robot.principal, request_id=request.id, fence=fence)


def test_a_wrong_key_does_not_ask_on() -> None:
    stage = fresh_stage()
    request = stage.ask()
    changes = Decision.Verdict.REQUEST_CHANGES
    stage.answer(request, verdict=changes, reason="Less.")
    with refused(CODE, status=409):
        AGENTS["revise"](of_production(stage), request, Effect())
    assert stage.fresh(request).state == "changes_requested"


@pytest.mark.parametrize("verb", ["redeem", "report"])
def test_a_wrong_key_neither_gets_nor_reports_what_was_begun(verb: str) -> None:
    stage, request, effect = under_way()
    with refused(CODE, status=409):
        AGENTS[verb](of_production(stage), request, effect)
    assert stage.fresh(effect).state == "started"


def test_an_answer_that_was_stored_is_for_its_own_environment() -> None:
    stage = fresh_stage()
    request, fence = approved(stage)
    place, key = f"approvals/{request.id}/redeem", unique()
    mine, other = Api.of(stage.house.robot), Api.of(of_production(stage))
    first = mine.post(place, fence=fence, Idempotency_Key=key)
    assert first.status_code == 200
    answer = other.post(place, fence=fence, Idempotency_Key=key)
    assert answer.json()["code"] == "idempotency_mismatch"
    assert mine.post(place, fence=fence, Idempotency_Key=key).json() == first.json()


def test_the_agent_approval_protocol_keeps_them_apart_too() -> None:
    stage, asked = fresh_stage(), submission()
    robot, other, key = stage.house.robot, of_production(stage), unique()
    id = aap(robot, "", asked, key).json()["id"]
    with tenant_transaction(stage.tenant_id):
        request = Request.objects.get(id=id)
    stage.answer(request)
    said = {"status": "succeeded"}
    tries = [
        aap(other, "", asked, key),
        other.client().delete(f"{PLACE}/{id}"),
        aap(other, f"/{id}/consume"),
        aap(other, f"/{id}/outcome", said),
    ]
    assert [one.status_code for one in tries] == [409] * 4
    assert {one.json()["error"]["code"] for one in tries} == {CODE}
    assert standing(request) == ("approved", {"live"}, 0)
    assert aap(robot, f"/{id}/consume").status_code == 200
    assert aap(other, f"/{id}/outcome", said).json()["error"]["code"] == CODE
    assert aap(robot, f"/{id}/outcome", said).status_code == 200


def test_a_key_moved_to_another_environment_acts_for_nothing_it_asked(
    tool_server: ToolServer,
) -> None:
    """By a hand in the database: the envelope says where it was asked."""
    stage, _, request = managed(tool_server)
    move(request)
    assert work_all(stage, request) == ["identity.mismatch"]
    assert tool_server.calls() == 0


def test_nor_does_its_agent_with_it() -> None:
    stage = fresh_stage()
    request, fence = approved(stage)
    move(request)
    answer = Api.of(stage.house.robot).post(
        f"approvals/{request.id}/redeem", fence=fence
    )
    assert answer.json()["code"] == "identity.mismatch"
    assert standing(request)[2] == 0


def move(request: Request) -> None:
    with superuser() as database:
        database.execute(
            "UPDATE tenants_apikey SET environment = 'production' WHERE id = %s",
            [request.key_id],
        )
