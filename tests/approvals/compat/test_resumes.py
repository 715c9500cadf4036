"""What a framework's own page sends back approves nothing, and takes back at most."""

from typing import Any

import pytest
from ag_ui.core import RunFinishedEvent

from approvals.models import Decision
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from sessions.models import Run
from tests.api import Api
from tests.approvals.compat.asking import (
    HITL,
    OTHERS,
    RESUMES,
    asking,
    entry,
    flaw,
    made,
    rows,
    traced,
    verified,
)
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.factories import fresh_agent, fresh_key, unique


@pytest.fixture
def api(stage: Stage) -> Api:
    return Api.of(stage.house.robot)


@pytest.fixture(scope="module")
def stage() -> Stage:
    return fresh_stage()


@pytest.mark.parametrize(
    "payload", [None, {"approved": True}, True, "approve", {"approved": False, "x": 1}]
)
def test_a_page_approves_nothing(stage: Stage, api: Api, payload: Any) -> None:
    request = stage.ask()
    found = made(
        api.post(RESUMES, {"resume": [entry(request, "resolved", payload)]}), 200
    )
    told = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
    event = RunFinishedEvent.model_validate({**told, "outcome": found["outcome"]})
    outcome: Any = event.outcome
    assert [one.id for one in outcome.interrupts] == [str(request.id)]
    assert stage.fresh(request).state == "pending"
    with tenant_transaction(stage.tenant_id):
        assert not Decision.objects.filter(request=request).exists()


@pytest.mark.parametrize(
    ("status", "payload"), [("cancelled", None), ("resolved", {"approved": False})]
)
def test_a_no_of_the_page_takes_the_question_back(
    stage: Stage, api: Api, status: str, payload: Any
) -> None:
    pay, other = stage.ask_all([{}, {"arguments": OTHERS}])
    stage.answer(pay)
    body = {"resume": [entry(pay, status, payload), entry(other, "resolved")]}
    found = made(api.post(RESUMES, body), 200)
    assert [one["status"] for one in found["requests"]] == ["cancelled", "pending"]
    assert [one["id"] for one in found["outcome"]["interrupts"]] == [str(other.id)]
    again = made(api.post(RESUMES, {"resume": [entry(pay, "cancelled")]}), 200)
    assert again["outcome"] == {"type": "success"}


def test_all_are_taken_back_or_none(stage: Stage, api: Api) -> None:
    request = stage.ask()
    before = traced(stage)
    elsewhere = fresh_stage().ask()
    for other in (new_id(), elsewhere):
        body = {"resume": [entry(request, "cancelled"), entry(other, "cancelled")]}
        answer = api.post(RESUMES, body)
        assert flaw(answer) == (404, "not_found", "/resume/1")
    assert traced(stage) == before


def test_another_agents_question_is_not_taken_back(stage: Stage) -> None:
    request = stage.ask()
    stranger = Api.of(fresh_agent(stage.house.alice, name=unique()))
    answer = stranger.post(RESUMES, {"resume": [entry(request, "cancelled")]})
    assert flaw(answer) == (404, "not_found", "/resume/0")
    assert stage.fresh(request).state == "pending"


def test_what_was_acted_on_is_not_taken_back(stage: Stage, api: Api) -> None:
    first, request = stage.ask(), stage.ask()
    stage.answer(request)
    verified(stage, request)
    fence = stage.fresh(request.run).fence
    made(api.post(f"approvals/{request.id}/redeem", fence=fence), 200)
    body = {"resume": [entry(first, "cancelled"), entry(request, "cancelled")]}
    assert flaw(api.post(RESUMES, body)) == (409, "too_late", "/resume/1")
    assert stage.fresh(first).state == "pending"


def test_a_key_for_tests_takes_nothing_of_production_back(stage: Stage) -> None:
    request, house = stage.ask(), stage.house
    machine = fresh_key(house.alice, house.robot.agent, environment="production")
    body = {"resume": [entry(request, "cancelled")]}
    assert flaw(Api.of(machine).post(RESUMES, body))[:2] == (409, "environment_differs")


# -- A run that opened for a question ----------------------------------------------------


def flagged(stage: Stage, run_id: Any) -> bool:
    with tenant_transaction(stage.tenant_id):
        return Run.objects.get(id=run_id).asks_only


def test_a_run_says_whether_it_opened_for_a_question_alone(
    stage: Stage, api: Api
) -> None:
    asked = made(api.post("approvals", {"tool": "pay", "arguments": ARGUMENTS}))
    together = made(api.post(HITL, asking(ARGUMENTS)))
    for one in (asked, together):
        assert made(api.get(f"runs/{one['run']}"), 200)["asks_only"] is True
    assert flagged(stage, stage.run().id) is False


def taken_back(stage: Stage, api: Api, asked: Any) -> None:
    """The question, so that the run goes on."""
    made(api.post(f"approvals/{asked['id']}/withdraw", {"reason": "x"}), 200)
    verified(stage, *rows(stage, {"requests": [asked]}))


@pytest.mark.parametrize("going_on", ["checkpoint", "fact", "question", "pause"])
def test_whoever_goes_on_in_it_keeps_it(stage: Stage, api: Api, going_on: str) -> None:
    asked = made(api.post("approvals", {"tool": "pay", "arguments": ARGUMENTS}))
    run, fence = asked["run"], asked["fence"]
    taken_back(stage, api, asked)
    assert flagged(stage, run)
    place = {"parent": 1, "schema_version": 1, "payload": "e30="}
    ask = {"tool": "pay", "arguments": OTHERS}
    path, body = {
        "checkpoint": (f"runs/{run}/checkpoints", place),
        "fact": (
            f"runs/{run}/transitions",
            {
                "expected_version": 0,
                "reason": "x",
                "facts": {
                    "po_matched": {
                        "value": True,
                        "provenance": "tool",
                        "reference": "x",
                        "evidence_digest": "ab",
                    }
                },
            },
        ),
        "question": ("approvals", {**ask, "run": run}),
        "pause": (f"runs/{run}/pause", {"checkpoint": place, "requests": [ask]}),
    }[going_on]
    answer = api.post(path, body, fence=fence)
    assert answer.status_code in (200, 201), answer.content
    assert not flagged(stage, run)
