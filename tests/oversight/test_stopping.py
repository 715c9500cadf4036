"""The pages of the stop switch: its reach, its reason, and what came of it."""

import pytest

from kernel.ids import new_id
from tenants.models import Role
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.standing_stage import PERMITS, end_it, made
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_member
from tests.oversight.administering import HOSTILE, statements, text, turned_away


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def paths(stage: Stage) -> dict[str, str]:
    return {
        "agent": f"agents/{stage.house.robot.agent.id}/stop",
        "tool": f"tools/{stage.tool.id}/stop",
        "tenant": "stop",
    }


@pytest.mark.parametrize("kind", ["agent", "tool", "tenant"])
def test_its_reach_is_shown_before_and_nothing_is_left_after(
    stage: Stage, alice: Reader, kind: str
) -> None:
    stage.policy(standing=PERMITS)
    stage.ask()
    approved = stage.ask()
    stage.answer(approved)
    over, _ = made(stage, approved), made(stage, approved)
    end_it(stage, over)
    path = paths(stage)[kind]
    before = alice.get(path).context["stop"]
    assert (before.on, before.last) == (True, None)
    reach = before.reach
    assert (reach.runs, reach.requests, reach.grants, reach.started) == (2, 1, 1, 0)
    assert reach.standing == 1
    assert reach.queues == (("Payments", 1),)
    said = {"act": "stop", "reason": "It pays twice."}
    assert alice.post(path, said).status_code == 303
    after = alice.get(path).context["stop"]
    assert (after.on, after.reach.requests, after.reach.grants) == (False, 0, 0)
    assert after.reach.standing == 0
    assert after.last.by == str(stage.house.alice.user)
    assert after.last.reason == "It pays twice."
    alice.post(path, {"act": "start", "reason": "Mended."})
    again = alice.get(path).context["stop"]
    assert (again.on, again.last.reason) == (True, "Mended.")


def test_without_a_reason_nothing_is_stopped(stage: Stage, alice: Reader) -> None:
    for path in paths(stage).values():
        answer = alice.post(path, {"act": "stop", "reason": " "})
        assert answer.status_code == 422
        assert 'id="reason-error"' in text(answer)
        assert answer.context["stop"].on
        long = alice.post(path, {"act": "stop", "reason": "x" * 4001})
        assert long.context["stop"].form.typed["reason"] == "x" * 4001
        assert long.context["stop"].on


def test_looking_stops_nothing(stage: Stage, alice: Reader) -> None:
    for path in paths(stage).values():
        assert alice.get(f"{path}?act=stop&reason=x").context["stop"].on


def test_what_nobody_offered_does_not_exist(stage: Stage, alice: Reader) -> None:
    for path in paths(stage).values():
        assert alice.post(path, {"act": "sing", "reason": "x"}).status_code == 404
    for path in (f"agents/{new_id()}/stop", f"tools/{new_id()}/stop"):
        assert alice.get(path).status_code == 404
        assert alice.post(path, {"act": "stop", "reason": "x"}).status_code == 404


def test_only_administrators_and_of_everything_only_owners(
    stage: Stage, alice: Reader
) -> None:
    for path in paths(stage).values():
        turned_away(alice, path, "stop", "start")
    admin = reader(stage, fresh_member(stage.house.alice, "Ada", role=Role.ADMIN))
    stop = {"act": "stop", "reason": "x"}
    assert admin.get("stop").status_code == 403
    assert admin.post("stop", stop).status_code == 403
    assert admin.get("agents").context["agents"].stop_href == ""
    assert alice.get("stop").context["stop"].on
    assert admin.post(paths(stage)["agent"], stop).status_code == 303


def test_a_neighbour_finds_nothing_to_stop(stage: Stage, alice: Reader) -> None:
    other = fresh_stage()
    theirs = reader(other, other.house.alice)
    for kind in ("agent", "tool"):
        path = paths(stage)[kind]
        assert theirs.get(path).status_code == 404
        stop = {"act": "stop", "reason": "x"}
        assert theirs.post(path, stop).status_code == 404
        assert alice.get(path).context["stop"].on


def test_a_reason_is_inert(stage: Stage, alice: Reader) -> None:
    path = paths(stage)["agent"]
    alice.post(path, {"act": "stop", "reason": f"{HOSTILE}\u202egpj.exe"})
    html = alice.get(path).content.decode()
    assert HOSTILE not in html
    assert "\u202e" not in html


def test_many_cost_no_more_statements_than_one(stage: Stage, alice: Reader) -> None:
    stage.ask()
    few = [statements(alice, path) for path in paths(stage).values()]
    for _ in range(3):
        stage.answer(stage.ask())
        stage.ask()
    assert [statements(alice, path) for path in paths(stage).values()] == few
