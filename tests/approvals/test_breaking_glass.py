"""One person alone, in an emergency: what that lifts, and all that it does not."""

from collections.abc import Callable
from typing import Any

import pytest

from approvals.models import Decision, Request
from approvals.services.queues import create_queue, give_right
from tests.approvals.changes import Approved
from tests.approvals.glass_stage import (
    UNSAID,
    WHY,
    GlassStage,
    after_deactivation,
    case_of,
    entries,
    give,
    glass_stage,
    nothing_came_of_it,
    take,
)
from tests.approvals.test_authority import act, observed, redeem_alone
from tests.approvals.tool_server import ToolServer
from tests.factories import fresh_house
from tests.refusals import refused

V = Decision.Verdict


@pytest.fixture
def stage() -> GlassStage:
    return glass_stage()


# -- What it lifts ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["managed", "agent"])
def test_one_person_stands_for_two_keys_and_it_is_done_once(
    mode: str, tool_server: ToolServer
) -> None:
    stage = glass_stage(mode, **(tool_server.definition() if mode == "managed" else {}))
    run = stage.run()
    request = stage.ask(run)
    assert stage.smash(request).state == Request.State.APPROVED
    case = Approved(stage=stage, request=request, run=run)
    assert act(case) == ("confirmed" if mode == "managed" else "started")
    assert observed(case)["effects"] == 1
    with refused("already_decided"):
        stage.smash(request)
    assert redeem_alone(case) != "authority.glass_not_permitted"
    assert observed(case)["effects"] == 1


def test_who_did_so_why_and_how_they_proved_it_is_signed(stage: GlassStage) -> None:
    request = stage.ask()
    stage.answer(request)
    stage.smash(request, ago=41.5)
    decision = stage.breaking(request)
    assert (decision.member_id, decision.reason) == (stage.dave.id, WHY)
    assert decision.authentication["at"] is not None
    (said,) = entries(stage, "approval.broke_glass")
    assert said["decision"] == str(decision.id)
    assert said["authenticated_ago"] == 42
    assert said["keys_missing"] == 1
    assert said["reason"] != WHY  # the words can be erased, the log cannot
    recorded = entries(stage, "decision.recorded")
    assert [one["broke_glass"] for one in recorded] == [False, True]


def test_whoever_has_turned_a_key_may_go_on_to_break_it(stage: GlassStage) -> None:
    give(stage, stage.bob, "break_glass")
    request = stage.ask()
    assert stage.answer(request).state == Request.State.PENDING
    assert stage.smash(request, by=stage.bob).state == Request.State.APPROVED
    assert act(case_of(stage, request)) == "started"


def test_what_was_answered_for_somebody_is_their_answer(stage: GlassStage) -> None:
    """Whoever stands in for Bob has said no for him: he does not say yes alone."""
    stage.permit(rules=[{"approvals": 2, "denials": 2}])
    give(stage, stage.bob, "break_glass")
    carol = stage.reviewer()
    stage.on_leave(stage.bob, carol)
    request = stage.ask()
    said = {"verdict": V.REJECT, "reason": "No.", "on_behalf_of": stage.bob.id}
    assert stage.answer(request, by=carol, **said).state == Request.State.PENDING
    with refused("answered_before"):
        stage.smash(request, by=stage.bob)
    assert nothing_came_of_it(stage, request)


# -- What it does not lift ----------------------------------------------------------------


def without_the_right(stage: GlassStage) -> dict[str, Any]:
    return {"by": stage.bob}  # who decides, and no more


def with_the_right_elsewhere(stage: GlassStage) -> dict[str, Any]:
    by = stage.house.alice.id
    other = create_queue(tenant_id=stage.tenant_id, by=by, slug="other", name="Other")
    give_right(
        tenant_id=stage.tenant_id,
        by=by,
        queue_id=other.id,
        right="break_glass",
        member_id=stage.bob.id,
    )
    return {"by": stage.bob}


def with_the_right_taken(stage: GlassStage) -> dict[str, Any]:
    take(stage)
    return {}


def where_a_policy_says_nothing_of_it(stage: GlassStage) -> dict[str, Any]:
    stage.permit("another", **UNSAID)
    return {}


def where_a_policy_forbids_it(stage: GlassStage) -> dict[str, Any]:
    stage.permit("another", break_glass=False)
    return {}


def where_a_policy_denies(stage: GlassStage) -> dict[str, Any]:
    stage.permit("never", verdict="deny")
    return {}


def with_an_old_sign_in(stage: GlassStage) -> dict[str, Any]:
    return {"ago": 301.0}


def without_a_sign_in(stage: GlassStage) -> dict[str, Any]:
    return {"ago": None}


def with_a_sign_in_older_than_a_policy_asks(stage: GlassStage) -> dict[str, Any]:
    stage.permit("fresh", reauthentication=30)
    return {"ago": 31.0}


def without_a_reason(stage: GlassStage) -> dict[str, Any]:
    return {"reason": " \n"}


def for_other_wording(stage: GlassStage) -> dict[str, Any]:
    return {"digest": b"\0" * 32}


def by_a_stranger(stage: GlassStage) -> dict[str, Any]:
    return {"by": fresh_house().bob}


LIMITS: dict[Callable[[GlassStage], dict[str, Any]], str] = {
    without_the_right: "not_permitted",
    with_the_right_elsewhere: "not_permitted",
    with_the_right_taken: "not_permitted",
    where_a_policy_says_nothing_of_it: "glass_sealed",
    where_a_policy_forbids_it: "glass_sealed",
    where_a_policy_denies: "glass_sealed",
    with_an_old_sign_in: "reauthentication_needed",
    without_a_sign_in: "reauthentication_needed",
    with_a_sign_in_older_than_a_policy_asks: "reauthentication_needed",
    without_a_reason: "reason_needed",
    for_other_wording: "digest_changed",
    by_a_stranger: "not_found",
    after_deactivation: "not_found",
}


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.__name__)
def test_it_is_refused(
    stage: GlassStage, limit: Callable[[GlassStage], dict[str, Any]]
) -> None:
    """Each thing alone, said of a request that was asked before it changed."""
    request = stage.ask()
    said = limit(stage)
    with refused(LIMITS[limit]):
        stage.smash(request, **said)
    assert nothing_came_of_it(stage, request)
