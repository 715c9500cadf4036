"""Who breaks no glass, when, and what a broken one does not lift."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from approvals.models import Decision, Grant, Request
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tests.approvals.glass_stage import (
    UNSAID,
    GlassStage,
    case_of,
    give,
    glass_stage,
    nothing_came_of_it,
)
from tests.approvals.stage import ARGUMENTS
from tests.approvals.superuser import overdue, superuser
from tests.approvals.test_authority import redeem_alone
from tests.approvals.test_separation import (
    an_owner,
    who_became_owner,
    who_was_owner_as_it_asked,
    whoever_made_the_key,
)
from tests.concurrency import together
from tests.refusals import refused

V = Decision.Verdict


@pytest.fixture
def stage() -> GlassStage:
    return glass_stage()


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


@pytest.mark.parametrize(
    "selector",
    ["arguments.missing > 1", "tool == 'another'"],
    ids=["errs", "another's"],
)
def test_a_policy_that_is_not_about_it_permits_nothing(
    stage: GlassStage, selector: str
) -> None:
    """Where it errs it asks for people, and in no more than that is it believed."""
    stage.permit(selector=selector)
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
    overdue(request.id)
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
