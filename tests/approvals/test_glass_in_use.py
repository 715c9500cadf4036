"""What changes after a glass was broken, looked at when the action begins."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from approvals.models import Grant
from tests.approvals.changes import Approved, sql
from tests.approvals.glass_stage import (
    UNSAID,
    GlassStage,
    after_deactivation,
    give,
    glass,
    glass_stage,
    take,
)
from tests.approvals.test_authority import DOORS, observed, redeem_alone
from tests.approvals.test_separation import (
    own,
)
from tests.approvals.tool_server import ToolServer


@pytest.fixture
def stage() -> GlassStage:
    return glass_stage()


def right_taken(case: Approved) -> None:
    take(glass(case))


def deactivated(case: Approved) -> None:
    after_deactivation(glass(case))


def became_owner(case: Approved) -> None:
    own(case.stage, glass(case).dave)


def permission_withdrawn(case: Approved) -> None:
    glass(case).permit(break_glass=False)


def another_policy(case: Approved) -> None:
    glass(case).permit("another", **UNSAID)


def policy_denies(case: Approved) -> None:
    glass(case).permit("never", verdict="deny")


def fresher_sign_in(case: Approved) -> None:
    glass(case).permit("fresh", reauthentication=5)


def own_policy(case: Approved) -> None:
    stage = glass(case)
    by_dave = replace(stage, house=replace(stage.house, alice=stage.dave))
    by_dave.policy("own", break_glass=True)


REDATED = """UPDATE approvals_decision SET authentication = '{"at": 9e9}', member_id =
  %(bob)s WHERE request_id = %(request)s AND broke_glass"""
UNBROKEN = """UPDATE approvals_decision SET broke_glass = false
  WHERE request_id = %(request)s"""
AFTERWARDS: dict[str, tuple[Callable[[Approved], None], str, str]] = {
    "right taken": (right_taken, "authority.decider_not_eligible", "reopen"),
    "deactivated": (deactivated, "authority.decider_inactive", "reopen"),
    "became owner": (became_owner, "authority.decider_not_eligible", "reopen"),
    "wrote a policy": (own_policy, "authority.decider_not_eligible", "reopen"),
    "no longer permitted": (
        permission_withdrawn,
        "authority.glass_not_permitted",
        "reopen",
    ),
    "another policy": (another_policy, "authority.glass_not_permitted", "reopen"),
    "policy denies": (policy_denies, "authority.policy_changed", "reopen"),
    "fresher sign-in": (fresher_sign_in, "authority.not_fresh", "reopen"),
    "by another": (sql(REDATED), "authority.decision_not_in_audit", "stop"),
    "made ordinary": (sql(UNBROKEN), "authority.decision_not_in_audit", "stop"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("change", AFTERWARDS)
def test_what_changes_after_it_was_broken_stops_the_action(
    change: str, door: str, tool_server: ToolServer
) -> None:
    make, code, klass = AFTERWARDS[change]
    mode, act_through = DOORS[door]
    stage = glass_stage(mode, **(tool_server.definition() if mode == "managed" else {}))
    run = stage.run()
    case = Approved(stage=stage, request=stage.ask(run), run=run)
    stage.smash(case.request)
    make(case)
    assert act_through(case) == code
    seen = observed(case)
    assert (seen["effects"], tool_server.calls()) == (0, 0)
    assert (seen["code"], seen["class"]) == (code, klass)
    assert seen["audited"]
    assert Grant.State.LIVE not in seen["grants"]


def test_an_ordinary_key_is_not_made_into_a_broken_glass(stage: GlassStage) -> None:
    """Bob's key was one of one; he may break glasses, and has broken none."""
    stage.permit(rules=[{"approvals": 1}])
    give(stage, stage.bob, "break_glass")
    run = stage.run()
    case = Approved(stage=stage, request=stage.ask(run), run=run)
    stage.answer(case.request)
    stage.permit(rules=[{"approvals": 2}])
    sql(
        "UPDATE approvals_decision SET broke_glass = true"
        " WHERE request_id = %(request)s"
    )(case)
    assert redeem_alone(case) == "authority.decision_not_in_audit"
    assert observed(case)["effects"] == 0
