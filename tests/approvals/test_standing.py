"""Standing approvals: who may make one, how far it goes, and what ends it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from approvals.beforehand import MADE, USED
from approvals.models import Decision
from approvals.policy.beforehand import Constraint
from approvals.services.revise import revise
from approvals.services.standing import (
    Terms,
    make_standing,
    revoke_standing,
)
from approvals.services.stopping import Target, stop
from audit.models import Entry
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.models import Role
from tests.approvals.stage import ARGUMENTS, fresh_stage
from tests.approvals.standing_stage import (
    DAY,
    PERMITS,
    S,
    approved,
    asked,
    decision_of,
    made,
    own,
    permitting,
    use,
)
from tests.approvals.superuser import superuser
from tests.concurrency import together
from tests.factories import fresh_member


def test_a_like_request_is_approved_by_the_one_who_agreed_beforehand() -> None:
    stage = permitting()
    standing = made(stage)
    request, run = asked(stage)
    given = decision_of(request)
    assert request.state == S.APPROVED
    assert (given.member_id, given.standing_id) == (stage.bob.id, standing.id)
    assert stage.fresh(standing).used == 0
    assert use(stage, request, run) == ""
    assert stage.fresh(standing).used == 1
    assert use(stage, request, run) == ""  # given again, not used again
    assert stage.fresh(standing).used == 1
    with tenant_transaction(stage.tenant_id):
        entries = Entry.objects.filter(subject_id=standing.id).order_by("seq")
        kinds = [(one.kind, one.actor_type) for one in entries]
    assert kinds == [(MADE, "member"), (USED, "system")]


def test_without_one_and_without_a_policy_that_permits_it_people_are_asked() -> None:
    stage = fresh_stage()
    with pytest.raises(Problem, match="standing_refused"):
        made(stage)
    stage.policy()
    with pytest.raises(Problem, match="standing_refused"):
        made(stage)
    stage.policy(standing=PERMITS)
    stage.policy("another")  # which says nothing of it, so that it is not permitted
    with pytest.raises(Problem, match="standing_refused"):
        made(stage)
    assert asked(stage)[0].state == S.PENDING


@pytest.mark.parametrize(
    "about",
    [
        {"arguments": {**ARGUMENTS, "amount": "1240.01"}},
        {"arguments": {**ARGUMENTS, "payee": "Halden"}},
        {"arguments": {**ARGUMENTS, "urgent": True}},
        {"target": "another"},
        {"preconditions": ({"field": "ready", "equals": True},)},
        {"risk": "critical"},
        {"allowed": ["reject", "respond"]},
    ],
)
def test_what_is_not_like_it_is_asked(about: dict[str, Any]) -> None:
    stage = permitting()
    made(stage)
    assert asked(stage, **about)[0].state == S.PENDING


def test_what_policy_leaves_open_may_be_bounded_and_nothing_else() -> None:
    stage = permitting()
    request = approved(stage)
    payees = {"values": [ARGUMENTS["payee"], "Halden"]}
    one = Constraint("/amount", "one_of", {"values": ["1.00", "1240.00"]})
    with pytest.raises(Problem, match="standing_too_wide") as wide:
        made(stage, request, bounded=[one])
    assert wide.value.pointer == "/arguments/amount"
    for terms in ({"uses": 4}, {"seconds": 8 * DAY}, {"uses": 0}, {"seconds": 0}):
        with pytest.raises(Problem, match="standing_too_wide"):
            made(stage, request, **terms)
    made(stage, request, bounded=[Constraint("/payee", "one_of", payees)])
    within, _ = asked(stage, arguments={**ARGUMENTS, "payee": "Halden"})
    beyond, _ = asked(stage, arguments={**ARGUMENTS, "payee": "Haldan"})
    assert (within.state, beyond.state) == (S.APPROVED, S.PENDING)


def test_the_last_use_is_used_once() -> None:
    stage = permitting()
    standing = made(stage, uses=1)
    first, second = asked(stage), asked(stage)
    assert [one.state for one, _ in (first, second)] == [S.APPROVED, S.APPROVED]
    came = together(
        lambda: use(stage, *first),
        lambda: use(stage, *second),
    )
    assert sorted(map(str, came)) == ["", "authority.standing_used_up"]
    assert stage.fresh(standing).used == 1
    states = {stage.fresh(one).state for one, _ in (first, second)}
    assert states == {S.CONSUMED, S.PENDING}  # the other asks people now
    assert asked(stage)[0].state == S.PENDING


@pytest.mark.parametrize("definition", [{"irreversible": True}, {}])
def test_never_for_what_cannot_be_undone(definition: dict[str, Any]) -> None:
    stage = fresh_stage(**definition)
    stage.policy(standing=PERMITS)
    risk = {} if definition else {"risk": "critical"}
    with pytest.raises(Problem, match="standing_refused"):
        made(stage, approved(stage, **risk))


def test_never_for_a_tool_that_nobody_reviewed() -> None:
    stage = permitting()
    with superuser() as connection:
        connection.execute(
            "UPDATE checkpoints_tool SET reviewed = false WHERE id = %s",
            [stage.tool.id],
        )
    with pytest.raises(Problem, match="standing_refused"):
        made(stage)


def test_only_from_ones_own_approval_of_what_was_on_the_screen() -> None:
    stage = permitting()
    carol = stage.reviewer()
    request = approved(stage)
    terms = Terms(seconds=DAY, uses=1)
    for somebody, code in (
        (carol, "not_approved"),
        (stage.house.alice, "not_approved"),
    ):
        with pytest.raises(Problem, match=code):
            make_standing(somebody.person, request_id=request.id, terms=terms)
    with pytest.raises(Problem, match="not_approved"):
        make_standing(
            stage.bob.person, request_id=request.id, terms=terms, digest=b"other"
        )
    outsider = fresh_member(stage.house.alice, "Dora")
    with pytest.raises(Problem, match="not_found"):
        make_standing(outsider.person, request_id=request.id, terms=terms)
    # What was answered beforehand is no approval to make another one from.
    made(stage, request)
    with pytest.raises(Problem, match="not_approved"):
        made(stage, asked(stage)[0])


def test_nobody_makes_one_for_their_own_agent() -> None:
    stage = permitting()
    request = approved(stage)
    own(stage)
    with pytest.raises(Problem, match="own_request"):
        made(stage, request)


def test_whose_agent_it_becomes_does_not_count_any_more() -> None:
    stage = permitting()
    made(stage)
    pending = asked(stage)
    own(stage)
    assert use(stage, *pending) == "authority.decider_not_eligible"
    assert asked(stage)[0].state == S.PENDING


def test_stopping_voids_it_for_good() -> None:
    stage = permitting()
    standing = made(stage)
    target = Target(tool_id=stage.tool.id)
    by = stage.house.alice.id
    stop(tenant_id=stage.tenant_id, by=by, target=target, reason="Odd.")
    assert stage.fresh(standing).revoked_reason == "Stopped: Odd."


def test_its_author_and_administrators_revoke_it_and_nobody_else() -> None:
    stage = permitting()
    request = approved(stage)
    first, second = made(stage, request), made(stage, request)
    carol = stage.reviewer()
    dora = fresh_member(stage.house.alice, "Dora", role=Role.DEVELOPER)
    about = {"reason": "No more."}
    with pytest.raises(Problem, match="not_permitted"):
        revoke_standing(carol.person, standing_id=first.id, **about)
    with pytest.raises(Problem, match="not_found"):
        revoke_standing(dora.person, standing_id=first.id, **about)
    with pytest.raises(Problem, match="reason_needed"):
        revoke_standing(stage.bob.person, standing_id=first.id, reason=" ")
    revoke_standing(stage.bob.person, standing_id=first.id, **about)
    revoke_standing(stage.house.alice.person, standing_id=second.id, **about)
    assert stage.fresh(first).revoked_by_id == stage.bob.id
    assert stage.fresh(second).revoked_by_id == stage.house.alice.id


def test_what_people_had_a_hand_in_they_see_again() -> None:
    """Changes were asked for, or it was re-opened: no standing approval answers that."""
    stage = permitting()
    request, _ = asked(stage)
    stage.answer(request, verdict=Decision.Verdict.REQUEST_CHANGES, reason="Why?")
    made(stage)
    who = stage.house.robot.principal
    revise(who, request_id=request.id, arguments=ARGUMENTS)
    assert stage.fresh(request).state == S.PENDING


@pytest.mark.parametrize(
    "definition",
    [
        {"reauthentication": 60},
        {"rules": [{"approvals": 2}]},
        {"verdict": "allow"},
        {"standing": {"uses": 1}},
        {"standing": {**PERMITS, "uses": 1001}},
        {"standing": {**PERMITS, "open": ["amount"]}},
    ],
)
def test_a_policy_does_not_permit_what_it_asks_at_the_time(
    definition: dict[str, Any],
) -> None:
    stage = fresh_stage()
    with pytest.raises(Problem, match=r"policy\.invalid"):
        stage.policy(**{"standing": PERMITS, **definition})


def test_another_policy_that_asks_for_more_keeps_it_from_answering() -> None:
    stage = permitting()
    made(stage)
    stage.policy("two", rules=[{"approvals": 2}])
    assert asked(stage)[0].state == S.PENDING


def test_the_application_itself_cannot_widen_it() -> None:
    stage = permitting()
    standing = made(stage)
    with (
        pytest.raises(Exception, match="permission denied"),
        tenant_transaction(stage.tenant_id),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "UPDATE approvals_standingapproval SET uses = 9 WHERE id = %s",
            [standing.id],
        )


def test_times_are_by_the_databases_clock() -> None:
    stage = permitting()
    standing = stage.fresh(made(stage))
    assert standing.expires_at - standing.created_at == timedelta(seconds=DAY)
