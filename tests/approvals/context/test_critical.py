"""What a history has to go on saying, whoever shortens it."""

import json
from typing import Any

import pytest

from sessions.contract import Claim
from sessions.models import Provenance
from sessions.services import (
    define_workflow,
    open_session,
    record_transition,
    start_run,
)
from sessions.services.items import branch_session
from tenants.checks import Operator
from tests.approvals.context.talking import Desk, call, said
from tests.approvals.stage import Stage

PAY = call("c1", "pay", amount="7.00")
ASK = said("user", "Pay it.")


@pytest.fixture
def waiting(desk: Desk) -> str:
    """Items of a branch beside a run that waits for people, with its call in them."""
    desk.say(ASK, PAY)
    desk.stage.ask(desk.run, tool_call_id="c1")
    branch = branch_session(who=desk.robot.principal, session_id=desk.run.session_id)
    assert branch.number == 1
    return f"sessions/{desk.run.session_id}/items"


def said_on(desk: Desk, place: str) -> Any:
    return desk.robot.client().get(f"/api/v1/{place}?branch=1").json()["items"]


def test_a_history_without_the_call_that_waits_is_refused_and_stays(
    desk: Desk, waiting: str
) -> None:
    before = said_on(desk, waiting)
    for items in (
        [said("user", "Nothing waits.")],
        [],
        [call("c1", "pay", amount="9")],
    ):
        answer = desk.post(f"{waiting}/replace", items=items, branch=1)
        assert answer.status_code == 409, answer.content
        problem = answer.json()
        assert (problem["code"], problem["lost"]) == ("critical_item", ["call:c1"])
        assert "/items" in json.dumps(problem)
    assert said_on(desk, waiting) == before


def test_a_history_that_still_says_it_is_taken(desk: Desk, waiting: str) -> None:
    items = [said("assistant", "Short."), PAY]
    answer = desk.post(f"{waiting}/replace", items=items, branch=1)
    assert answer.status_code < 300, answer.content
    assert len(said_on(desk, waiting)) == 2


@pytest.mark.parametrize("way", ["pop", "clear"])
def test_the_call_that_waits_is_neither_popped_nor_cleared(
    desk: Desk, waiting: str, way: str
) -> None:
    before = said_on(desk, waiting)
    answer = desk.post(f"{waiting}/{way}", branch=1)
    assert (answer.status_code, answer.json()["code"]) == (409, "critical_item")
    assert said_on(desk, waiting) == before


def test_what_a_fact_of_authority_refers_to_stays_in_the_same_words(
    stage: Stage,
) -> None:
    who = stage.house.robot.principal
    definition = {"fields": {"po": {"authority": True, "provenance": ["user"]}}}
    define_workflow(
        tenant_id=stage.tenant_id,
        by=Operator.CONSOLE,
        kind="orders",
        definition=definition,
    )
    session = open_session(who=who, subject="customer-7")
    run, _ = start_run(who=who, session_id=session.id, workflow="orders")
    desk = Desk(stage=stage, run=run)
    desk.say(ASK, said("user", "PO 12 is right."))
    claim = Claim(value=12, provenance=Provenance.USER, reference="item:2")
    record_transition(
        who=who,
        run_id=run.id,
        fence=run.fence,
        expected_version=0,
        facts={"po": claim},
        reason="said",
    )
    place = f"/api/v1/sessions/{session.id}/items/replace"
    fence = {"Keyturn-Fence": str(run.fence)}

    def replace(*items: Any) -> Any:
        return desk.robot.client().post(
            place,
            {"items": list(items), "run": str(run.id)},
            content_type="application/json",
            headers=fence,
        )

    for _ in range(2):
        refused = replace(said("user", "PO 13 is right."))
        assert (refused.status_code, refused.json()["lost"]) == (409, ["fact:po"])
        assert replace(said("user", "PO 12 is right.")).status_code < 300
