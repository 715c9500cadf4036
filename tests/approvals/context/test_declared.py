"""What a workflow declares of its fields is kept: who sees them, and for how long."""

import json
from typing import Any

import pytest

from approvals.queries import fact_values
from approvals.services.redeem import redeem
from kernel.scope import tenant_transaction
from sessions.contract import Claim
from sessions.models import Fact, Provenance, Run
from sessions.services import (
    define_workflow,
    open_session,
    record_transition,
    start_run,
)
from tenants.checks import Operator
from tests.approvals.context.talking import Desk, dropped
from tests.approvals.stage import Stage
from tests.checkpoints.tampering import superuser_says
from tests.refusals import refused

DEFINITION: dict[str, Any] = {
    "fields": {
        "open": {"lifetime": 60},
        "private": {"visibility": "people"},
        "secret": {"visibility": "overseers"},
        "lasting": {"lifetime": "session"},
    },
    "stages": {"a": ["b"], "b": []},
    "initial": "a",
    "required": {"b": ["open"]},
}


@pytest.fixture
def told(stage: Stage) -> Desk:
    """A run that states each of the fields, under the name of the field."""
    define_workflow(
        tenant_id=stage.tenant_id,
        by=Operator.CONSOLE,
        kind="declared",
        definition=DEFINITION,
    )
    who = stage.house.robot.principal
    session = open_session(who=who, subject="customer-7")
    run, _ = start_run(who=who, session_id=session.id, workflow="declared")
    desk = Desk(stage=stage, run=run)
    desk.state(**{name: f"<{name}>" for name in DEFINITION["fields"]})
    desk.run = stage.fresh(run)
    return desk


def age(desk: Desk, seconds: int) -> None:
    superuser_says(
        "update agent_sessions_fact set observed_at = observed_at"
        f" - interval '{seconds} seconds' where run_id = '{desk.run.id}'"
    )


@pytest.mark.parametrize("shape", ["pieces", "openai", "anthropic"])
def test_a_context_holds_no_fact_that_is_kept_from_models(
    told: Desk, shape: str
) -> None:
    context = told.context(f"?shape={shape}")
    text = json.dumps(context["input"]) + json.dumps(context["included"])
    assert "<open>" in text
    assert "<private>" not in text
    assert "<secret>" not in text
    why = "the workflow keeps it from models"
    left_out = dropped(context)
    assert (left_out["fact:private@1"], left_out["fact:secret@1"]) == (why, why)


@pytest.mark.parametrize("door", ["", "/state", "/state/diff", "/transitions"])
def test_an_agent_reads_back_what_is_not_for_overseers_alone(
    told: Desk, door: str
) -> None:
    answer = told.robot.client().get(f"/api/v1/runs/{told.run.id}{door}")
    text = answer.content.decode()
    assert answer.status_code == 200, text
    assert "<private>" in text
    assert "<secret>" not in text


@pytest.mark.parametrize("door", ["", "/state"])
def test_an_agent_is_told_which_fact_has_lapsed(told: Desk, door: str) -> None:
    def lapsed() -> set[str]:
        answer = told.robot.client().get(f"/api/v1/runs/{told.run.id}{door}").json()
        return {name for name, fact in answer["facts"].items() if fact["lapsed"]}

    assert lapsed() == set()
    age(told, 61)
    superuser_says(
        "update agent_sessions_transition set created_at = created_at"
        f" - interval '61 seconds' where run_id = '{told.run.id}'"
    )
    assert lapsed() == {"open"}


def test_a_difference_tells_it_too(told: Desk) -> None:
    place = f"/api/v1/runs/{told.run.id}/state/diff?before=0&after=1"
    for fact in told.robot.client().get(place).json()["facts"]:
        assert (fact["before"], fact["after"]["lapsed"]) == (None, False)


def test_a_fact_whose_lifetime_is_over_is_in_no_context(told: Desk) -> None:
    age(told, 61)
    context = told.context()
    assert "<open>" not in json.dumps(context)
    assert dropped(context)["fact:open@1"] == "its lifetime is over"
    assert "<lasting>" in json.dumps(context["included"])


def test_a_fact_whose_lifetime_is_over_lets_no_stage_be_entered(told: Desk) -> None:
    def go(version: int, **facts: Claim) -> None:
        record_transition(
            who=told.robot.principal,
            run_id=told.run.id,
            fence=told.run.fence,
            expected_version=version,
            stage="b",
            facts=facts,
            reason="on",
        )

    age(told, 61)
    with refused("fact_missing", status=409, pointer="/stage"):
        go(1)
    again = Claim(value="<open>", provenance=Provenance.USER, reference="mail/1")
    go(1, open=again)
    assert told.stage.fresh(told.run).stage == "b"


def test_a_fact_whose_lifetime_is_over_is_nothing_to_policy(told: Desk) -> None:
    def known() -> set[str]:
        with tenant_transaction(told.stage.tenant_id):
            assert Fact.objects.filter(run_id=told.run.id).count() == 4
            return set(fact_values(Run.objects.get(id=told.run.id)))

    assert "open" in known()
    age(told, 61)
    assert known() == {"private", "secret", "lasting"}


def test_a_fact_whose_lifetime_is_over_upholds_no_precondition(told: Desk) -> None:
    wanted = ({"field": "open", "equals": "<open>"},)
    request = told.stage.ask(told.run, preconditions=wanted)
    told.stage.answer(request)
    age(told, 61)
    with refused("authority.precondition_missing"):
        redeem(told.robot.principal, request_id=request.id, fence=told.run.fence)
