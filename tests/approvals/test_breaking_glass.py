"""One person alone, in an emergency: what that lifts, and all that it does not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from approvals.models import Decision, Grant, Request
from approvals.services.queues import create_queue, give_right, take_right
from audit.models import Entry
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Run
from tenants.services import deactivate_member
from tests.approvals.changes import Approved, sql
from tests.approvals.glass_stage import WHY, GlassStage, give, glass_stage
from tests.approvals.stage import ARGUMENTS
from tests.approvals.superuser import superuser
from tests.approvals.test_authority import DOORS, act, observed, redeem_alone
from tests.approvals.test_separation import (
    an_owner,
    own,
    who_became_owner,
    who_was_owner_as_it_asked,
    whoever_made_the_key,
)
from tests.approvals.tool_server import ToolServer
from tests.concurrency import together
from tests.factories import fresh_house
from tests.refusals import refused

V = Decision.Verdict
UNSAID: Any = {"break_glass": None}


@pytest.fixture
def stage() -> GlassStage:
    return glass_stage()


def entries(stage: GlassStage, kind: str) -> list[dict[str, Any]]:
    with tenant_transaction(stage.tenant_id):
        return list(Entry.objects.filter(kind=kind).values_list("data", flat=True))


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


def after_deactivation(stage: GlassStage) -> dict[str, Any]:
    deactivate_member(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, member_id=stage.dave.id
    )
    return {}


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


@pytest.mark.parametrize(
    "pinned", [{"break_glass": False}, UNSAID], ids=["no", "unsaid"]
)
def test_what_was_asked_before_policy_permitted_it_stays_closed(
    stage: GlassStage, pinned: dict[str, Any]
) -> None:
    stage.permit(**pinned)
    request = stage.ask()
    stage.permit()
    with refused("glass_sealed"):
        stage.smash(request)
    assert nothing_came_of_it(stage, request)


def test_a_policy_that_cannot_tell_permits_nothing(stage: GlassStage) -> None:
    """It asks for people where it errs, and in no more than that is it believed."""
    stage.permit(selector="arguments.missing > 1")
    request = stage.ask()
    with refused("glass_sealed"):
        stage.smash(request)
    assert nothing_came_of_it(stage, request)


def test_without_a_policy_there_is_no_glass(stage: GlassStage) -> None:
    stage.permit(selector="tool == 'another'")
    request = stage.ask()
    with refused("glass_sealed"):
        stage.smash(request)
    assert nothing_came_of_it(stage, request)


@pytest.mark.parametrize(
    "make",
    [
        an_owner,
        who_became_owner,
        who_was_owner_as_it_asked,
        whoever_made_the_key,
    ],
)
def test_nobody_breaks_it_for_their_own_side(
    stage: GlassStage, make: Callable[..., tuple[GlassStage, Request]]
) -> None:
    stage, request = make(stage, stage.dave)
    with refused("own_request"):
        stage.smash(request)
    assert nothing_came_of_it(stage, request)


def test_nobody_breaks_it_under_a_policy_of_their_own(stage: GlassStage) -> None:
    stage.permit("own")
    by_dave = replace(stage, house=replace(stage.house, alice=stage.dave))
    by_dave.policy("own", break_glass=True)
    request = stage.ask()
    with refused("own_request"):
        stage.smash(request)
    assert nothing_came_of_it(stage, request)


def test_nobody_breaks_it_under_a_policy_they_wrote_since(stage: GlassStage) -> None:
    request = stage.ask()
    by_dave = replace(stage, house=replace(stage.house, alice=stage.dave))
    by_dave.policy("own", break_glass=True)
    with refused("own_request"):
        stage.smash(request)
    assert nothing_came_of_it(stage, request)


def test_nobody_breaks_it_for_their_own_edit(stage: GlassStage) -> None:
    """Not even where the policy would count the editor."""
    stage.permit(editor_counts=True)
    give(stage, stage.bob, "break_glass")
    request = stage.ask()
    less = {**ARGUMENTS, "amount": "1.00"}
    stage.answer(request, verdict=V.EDIT, arguments=less, reason="Less.")
    with refused("own_request"):
        stage.smash(request, by=stage.bob)
    assert nothing_came_of_it(stage, request)


def test_whoever_asked_for_something_else_does_not_break_it(stage: GlassStage) -> None:
    stage.permit(rules=[{"approvals": 2, "denials": 2}])
    give(stage, stage.bob, "break_glass")
    request = stage.ask()
    stage.answer(request, verdict=V.REJECT, reason="No.")
    with refused("answered_before"):
        stage.smash(request, by=stage.bob)
    assert nothing_came_of_it(stage, request)


def test_a_question_is_not_answered_by_it(stage: GlassStage) -> None:
    request = stage.ask(allowed=("respond", "reject"))
    with refused("verdict_not_allowed"):
        stage.smash(request)
    assert nothing_came_of_it(stage, request)


def test_it_comes_too_late_after_the_deadline(stage: GlassStage) -> None:
    request = stage.ask()
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_request SET due_at = now() - interval '1 s'"
            " WHERE id = %s",
            [request.id],
        )
    with pytest.raises(Problem) as late:
        stage.smash(request)
    assert late.value.code in {"expired", "already_decided"}  # or the sweep was first
    assert stage.fresh(request).state == Request.State.EXPIRED


def test_one_person_alone_in_a_tenant_breaks_nothing(stage: GlassStage) -> None:
    """They may decide their own requests; there is nobody to look into more than that."""
    request = stage.ask()
    with superuser() as connection:  # for whom no trigger holds
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE tenants_tenant SET solo = true WHERE id = %s", [stage.tenant_id]
        )
    with refused("glass_sealed"):
        stage.smash(request)
    assert nothing_came_of_it(stage, request)


def test_the_waiting_time_stays(stage: GlassStage) -> None:
    stage.permit(wait=3600)
    request = stage.ask()
    stage.smash(request)
    assert redeem_alone(case_of(stage, request)) == "authority.waiting"


def test_only_one_of_many_at_once_breaks_it(stage: GlassStage) -> None:
    request = stage.ask()
    people = [stage.dave, *(stage.reviewer(name) for name in ("Erin", "Frank"))]
    for one in people[1:]:
        give(stage, one, "break_glass")
    tries = [lambda one=one: stage.smash(request, by=one) for one in people * 2]
    results = together(*tries)
    assert sum(isinstance(one, Request) for one in results) == 1
    codes = {one.code for one in results if isinstance(one, Problem)}
    assert codes <= {"already_decided", "answered_before"}
    assert stage.broken(request) == 1
    with tenant_transaction(stage.tenant_id):
        assert Grant.objects.filter(request=request).count() == 1


def test_the_database_knows_no_glass_broken_by_a_policy(stage: GlassStage) -> None:
    request = stage.ask()
    stage.answer(request)
    with superuser() as connection, pytest.raises(Exception, match="glass_is_a_perso"):
        connection.execute(
            "UPDATE approvals_decision SET broke_glass = true, member_id = NULL"
            " WHERE request_id = %s",
            [request.id],
        )


# -- At the moment of the action -----------------------------------------------------------


def take(stage: GlassStage) -> None:
    take_right(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        queue_id=stage.queue.id,
        right="break_glass",
        member_id=stage.dave.id,
    )


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


def glass(case: Approved) -> GlassStage:
    assert isinstance(case.stage, GlassStage)
    return case.stage


def case_of(stage: GlassStage, request: Request) -> Approved:
    with tenant_transaction(stage.tenant_id):
        run = Run.objects.get(id=request.run_id)
    return Approved(stage=stage, request=request, run=run)


def nothing_came_of_it(stage: GlassStage, request: Request) -> bool:
    now = stage.fresh(request)
    with tenant_transaction(stage.tenant_id):
        granted = Grant.objects.filter(request=request).exists()
    said = entries(stage, "approval.broke_glass")
    return (now.state, granted, stage.broken(request), said) == (
        Request.State.PENDING,
        False,
        0,
        [],
    )
