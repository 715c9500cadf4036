"""The pages of tools: what is registered, as it is."""

import pytest

from checkpoints.services.tools import register_tool, register_unreviewed
from kernel.ids import new_id
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.oversight.administering import HOSTILE, statements, text, turned_away


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def register(stage: Stage, name: str, description: str = "") -> str:
    tool = register_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        name=name,
        mode="agent",
        risk="low",
        definition={"description": description},
    )
    return f"tools/{tool.id}"


def test_each_is_listed_also_those_that_nobody_reviewed(
    stage: Stage, alice: Reader
) -> None:
    register_unreviewed(stage.house.robot.principal, name="delete_all")
    rows = {row.name: row for row in alice.get("tools").context["tools"].rows}
    assert list(rows) == ["delete_all", "pay"]
    assert (rows["delete_all"].reviewed, rows["pay"].reviewed) == (False, True)
    assert "by nobody" in text(alice.get("tools"))


def test_one_shows_its_definition_and_its_switch(stage: Stage, alice: Reader) -> None:
    answer = alice.get(f"tools/{stage.tool.id}")
    view = answer.context["tool"]
    assert bytes(stage.tool.digest).hex() == view.digest
    assert "Pay {amount} to {payee}" in text(answer)
    assert alice.get(view.stop_href.partition(f"{alice.home}/")[2]).status_code == 200


def test_a_description_is_inert(stage: Stage, alice: Reader) -> None:
    path = register(stage, "odd", f"{HOSTILE}\u202egpj.exe")
    html = alice.get(path).content.decode()
    assert HOSTILE not in html
    assert "\u202e" not in html


def test_only_administrators_look_and_only_at_their_own(
    stage: Stage, alice: Reader
) -> None:
    path = f"tools/{stage.tool.id}"
    turned_away(alice, "tools")
    turned_away(alice, path)
    other = fresh_stage()
    theirs = reader(other, other.house.alice)
    assert theirs.get(path).status_code == 404
    assert alice.get(f"tools/{new_id()}").status_code == 404


def test_pages_go_on_and_cost_the_same(stage: Stage, alice: Reader) -> None:
    few = statements(alice, "tools")
    for number in range(55):
        register(stage, f"t{number:03}")
    assert statements(alice, "tools") == few
    first = alice.get("tools").context["tools"]
    query = first.pages.next_href.partition("?")[2]
    second = alice.get(f"tools?{query}").context["tools"]
    assert len({row.name for row in (*first.rows, *second.rows)}) == 56
