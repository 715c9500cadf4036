"""A page costs as many statements for one row as for many."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import Decision
from checkpoints.services import fork_run
from tests.approvals.stage import ARGUMENTS, Stage
from tests.approvals.views.browsing import reader

V = Decision.Verdict
MOST = {"queue": 25, "queue?q=pay": 27, "queue?view=decided": 30, "runs": 25}
MOST |= {"queue?tool=pay&age=1h&sort=newest": 25, "queue?view=decided&mine=1": 30}

BOOSTED = {"HX-Request": "true", "HX-Boosted": "true", "HX-Target": "case"}
MOST_ONWARD = 60
MOST_HELD = 40


def statements(stage: Stage, path: str) -> int:
    bob = reader(stage)
    with CaptureQueriesContext(connection) as captured:
        response = bob.get(path)
    assert response.status_code == 200
    return len(captured)


@pytest.mark.parametrize("path", MOST)
def test_lists(stage: Stage, path: str) -> None:
    def grow() -> None:
        stage.ask()
        stage.answer(stage.ask())
        stage.answer(stage.ask(), verdict=V.REJECT, reason="No.")

    grow()
    before = statements(stage, path)
    for _ in range(3):
        grow()
    assert statements(stage, path) == before <= MOST[path]


def test_the_audit_log(stage: Stage) -> None:
    alice = reader(stage, stage.house.alice)

    def cost() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert alice.get("audit").status_code == 200
        return len(captured)

    stage.answer(stage.ask())
    before = cost()
    for _ in range(3):
        stage.answer(stage.ask(), stage.reviewer("Carol"))
    assert cost() == before <= 25


def unchanged(stage: Stage, path: str, grow: Callable[[], None]) -> None:
    before = statements(stage, path)
    grow()
    assert statements(stage, path) == before


def test_a_case_and_its_run(stage: Stage) -> None:
    """More people, decisions, revisions and open requests beside it."""
    stage.reviewer("Anna")
    stage.policy(rules=[{"approvals": 3}])
    request, amounts = stage.ask(), iter(range(9))

    def grow() -> None:
        names = ("Carol", "Dora", "Emil")
        for editor, other in pairwise(names):
            arguments = {**ARGUMENTS, "amount": f"{next(amounts)}.00"}
            by = stage.reviewer(editor)
            stage.answer(request, by, verdict=V.EDIT, arguments=arguments, reason="x")
            stage.answer(request, stage.reviewer(other), reason="Fine.")
        stage.ask()
        fork_run(who=stage.house.robot.principal, run_id=request.run_id, number=1)

    grow()
    statements(stage, f"queue/{request.id}")  # who looked is said there, too
    unchanged(stage, f"queue/{request.id}", grow)
    unchanged(stage, f"runs/{request.run_id}", grow)


def test_the_parts_that_are_exchanged_cost_no_more_than_the_page(stage: Stage) -> None:
    request = stage.ask()
    bob = reader(stage)
    costs = {}
    for target in ("", "list", "case"):
        headers = {"HX-Request": "true", "HX-Target": target} if target else {}
        with CaptureQueriesContext(connection) as captured:
            bob.get(f"queue/{request.id}", headers=headers)
        costs[target] = len(captured)
    assert costs["list"] < costs["case"] < costs[""]


def test_deciding_and_showing_the_next(stage: Stage) -> None:
    """What a reviewer waits for all day, to the statement."""
    first, _ = [stage.ask(decide_within=900 + n) for n in range(2)]
    bob = reader(stage)
    said = {"verdict": "approve", "onward": "1"}
    said["digest"] = bob.case(first.id).exact.digest
    with CaptureQueriesContext(connection) as captured:
        shown = bob.post(f"requests/{first.id}/decide", said, headers=BOOSTED)
    assert shown.context["case"].earlier is not None
    assert len(captured) <= MOST_ONWARD


def test_deciding_and_showing_what_the_page_holds(stage: Stage) -> None:
    """The same, where the next case was drawn while the answer was given."""
    first, _ = [stage.ask(decide_within=900 + n) for n in range(2)]
    bob = reader(stage)
    said = {"verdict": "approve", "onward": "1"}
    said["digest"] = bob.case(first.id).exact.digest
    drawn = bob.get(f"requests/{first.id}/ahead", headers=BOOSTED)
    mark = {"Keyturn-Drawn": str(drawn.context["mark"])}
    with CaptureQueriesContext(connection) as captured:
        shown = bob.post(
            f"requests/{first.id}/decide", said, headers={**BOOSTED, **mark}
        )
    assert "Keyturn-Drawn" in shown.headers
    assert len(captured) <= MOST_HELD
