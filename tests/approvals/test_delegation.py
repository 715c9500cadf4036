"""Not through delegation: it moves who is asked, and never what is required.

Anna is on leave, Bea stands in for her; both review. Carl, when asked for, is a third.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.models import Decision, Request
from approvals.reading import as_json, snapshot
from approvals.separation import distinct
from approvals.services.delegations import (
    end_delegation,
)
from approvals.services.queues import create_queue, give_right, take_right
from audit.models import Entry
from kernel.scope import tenant_transaction
from tenants.services import add_agent_owner, deactivate_member, remove_from_group
from tests.approvals.absence import (
    Absence,
    absence,
)
from tests.approvals.stage import ARGUMENTS, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.test_resume import work_all
from tests.factories import fresh_member
from tests.refusals import refused

V = Decision.Verdict


def test_the_decision_says_on_whose_behalf() -> None:
    case = absence()
    assert case.answer().state == Request.State.APPROVED
    with tenant_transaction(case.stage.tenant_id):
        decision = Decision.objects.get(request=case.request)
        entry = Entry.objects.get(subject_id=decision.id)
        request = Request.objects.select_related("tool", "queue").get(
            pk=decision.request_id
        )
        (told,) = as_json(snapshot(request))["decisions"]
        (veiled,) = as_json(snapshot(request), names_deciders=False)["decisions"]
    assert decision.member_id == case.bea.id
    assert entry.data["on_behalf_of"] == str(case.anna.id)
    assert entry.data["delegation"] == str(case.delegation.id)
    assert (told["by"], told["on_behalf_of"]) == ("Bea", "Anna")
    assert (veiled["by"], veiled["on_behalf_of"]) == ("a reviewer", "a reviewer")
    assert work_all(case.stage, case.request) == ["ready"]


def nobody_named_them(case: Absence) -> None:
    end_delegation(**case.by, delegation_id=case.delegation.id)


def it_is_over(case: Absence) -> None:
    _alter(
        case,
        "ends_at = now() - interval '1 second', starts_at = ends_at - interval '9 days'",
    )


def it_has_not_begun(case: Absence) -> None:
    _alter(case, "starts_at = now() + interval '1 day'")


def it_is_for_another_queue(case: Absence) -> None:
    other = create_queue(**case.by, slug="other", name="Other")
    _alter(case, f"queues = ARRAY['{other.id}'::uuid]")


def it_is_the_other_way_round(case: Absence) -> None:
    _alter(case, "delegator_id = delegate_id, delegate_id = delegator_id")


def anna_answers_for_the_agent(case: Absence) -> None:
    agent = case.stage.house.robot.agent.id
    add_agent_owner(**case.by, agent_id=agent, member_id=case.anna.id)


def bea_answers_for_the_agent(case: Absence) -> None:
    agent = case.stage.house.robot.agent.id
    add_agent_owner(**case.by, agent_id=agent, member_id=case.bea.id)


def anna_was_deactivated(case: Absence) -> None:
    deactivate_member(**case.by, member_id=case.anna.id)


def anna_may_not_decide_here(case: Absence) -> None:
    group = case.stage.house.reviewers.id
    remove_from_group(**case.by, group_id=group, member_id=case.anna.id)


def anna_has_answered(case: Absence) -> None:
    case.stage.answer(case.request, by=case.anna)


def bea_has_answered(case: Absence) -> None:
    case.stage.answer(case.request, by=case.bea)


def another_has_answered_for_anna(case: Absence) -> None:
    carl = case.stage.reviewer("Carl")
    case.stage.on_leave(case.anna, carl)
    case.stage.answer(case.request, by=carl, on_behalf_of=case.anna.id)


def _alter(case: Absence, to: str) -> None:
    """Past the verbs, which let no such delegation come about or change."""
    with superuser() as connection:
        connection.execute(
            f"UPDATE approvals_delegation SET {to} WHERE id = %s", [case.delegation.id]
        )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (nobody_named_them, "not_standing_in"),
        (it_is_over, "not_standing_in"),
        (it_has_not_begun, "not_standing_in"),
        (it_is_for_another_queue, "not_standing_in"),
        (it_is_the_other_way_round, "not_standing_in"),
        (anna_was_deactivated, "not_standing_in"),
        (anna_answers_for_the_agent, "own_request"),
        (bea_answers_for_the_agent, "own_request"),
        (anna_may_not_decide_here, "not_eligible"),
        (anna_has_answered, "answered_before"),
        (bea_has_answered, "answered_before"),
        (another_has_answered_for_anna, "answered_before"),
    ],
)
def test_nobody_answers_for_somebody_when(
    change: Callable[[Absence], None], code: str
) -> None:
    case = absence(rules=[{"approvals": 3}])
    change(case)
    with refused(code):
        case.answer()
    assert case.stage.fresh(case.request).state == Request.State.PENDING


def test_who_stands_in_must_be_eligible_themself() -> None:
    case = absence()
    dora = fresh_member(case.stage.house.alice, "Dora")
    give_right(**case.by, queue_id=case.stage.queue.id, right="view", member_id=dora.id)
    case.stage.on_leave(case.anna, dora)
    with refused("not_permitted"):
        case.stage.answer(case.request, by=dora, on_behalf_of=case.anna.id)
    give_right(
        **case.by, queue_id=case.stage.queue.id, right="decide", member_id=dora.id
    )
    assert case.stage.answer(case.request, by=dora, on_behalf_of=case.anna.id)


def test_both_must_be_eligible_for_the_same_key() -> None:
    """Each may turn one of two keys; neither of them could turn the other's."""
    stage = fresh_stage()
    anna, bea = stage.reviewer("Anna"), stage.reviewer("Bea")
    rules = [{"eligible": {"members": [str(one.id)]}} for one in (anna, bea)]
    stage.policy(rules=rules)
    stage.on_leave(anna, bea)
    request = stage.ask()
    with refused("not_eligible"):
        stage.answer(request, by=bea, on_behalf_of=anna.id)


def test_two_keys_are_two_people_and_not_one_of_them_twice() -> None:
    case = absence(rules=[{"approvals": 2}])
    assert case.answer().state == Request.State.PENDING
    for who in (case.anna, case.bea):
        with refused("answered_before"):
            case.stage.answer(case.request, by=who)
    done = case.stage.answer(case.request)
    assert done.state == Request.State.APPROVED


def test_two_denials_are_two_people() -> None:
    case = absence(rules=[{"denials": 2}])
    case.answer(verdict=V.REJECT, reason="No.")
    with refused("answered_before"):
        case.stage.answer(case.request, by=case.anna, verdict=V.REJECT, reason="No.")
    assert case.stage.fresh(case.request).state == Request.State.PENDING


def test_an_edit_is_ones_own() -> None:
    case = absence()
    with refused("not_standing_in"):
        case.answer(
            verdict=V.EDIT, arguments={**ARGUMENTS, "amount": "1.00"}, reason="Less."
        )


def test_there_are_no_chains() -> None:
    case = absence()
    carl = case.stage.reviewer("Carl")
    case.stage.on_leave(case.bea, carl)
    with refused("not_standing_in"):
        case.stage.answer(case.request, by=carl, on_behalf_of=case.anna.id)
    with refused("delegation_invalid", pointer="/delegate"):
        case.stage.on_leave(case.stage.bob, case.bea)
    assert case.answer().state == Request.State.APPROVED


def the_delegate_lost_the_right(case: Absence) -> None:
    group = case.stage.house.reviewers.id
    remove_from_group(**case.by, group_id=group, member_id=case.bea.id)


def nobody_decides_here_any_more(case: Absence) -> None:
    take_right(
        **case.by,
        queue_id=case.stage.queue.id,
        right="decide",
        group_id=case.stage.house.reviewers.id,
    )


def the_behalf_was_taken_out(case: Absence) -> None:
    _alter_decision(case, "on_behalf_of_id = NULL, delegation_id = NULL")


def another_was_put_in(case: Absence) -> None:
    _alter_decision(case, f"on_behalf_of_id = '{case.stage.bob.id}'")


def it_had_ended_before(case: Absence) -> None:
    _alter(case, "ended_at = starts_at")


def it_was_for_somebody_else(case: Absence) -> None:
    _alter(case, f"delegator_id = '{case.stage.bob.id}'")


def _alter_decision(case: Absence, to: str) -> None:
    with superuser() as connection:
        connection.execute(
            f"UPDATE approvals_decision SET {to} WHERE request_id = %s",
            [case.request.id],
        )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (anna_answers_for_the_agent, "authority.decider_not_eligible"),
        (bea_answers_for_the_agent, "authority.decider_not_eligible"),
        (anna_was_deactivated, "authority.decider_inactive"),
        (anna_may_not_decide_here, "authority.decider_not_eligible"),
        (the_delegate_lost_the_right, "authority.decider_not_eligible"),
        (nobody_decides_here_any_more, "authority.decider_not_eligible"),
        (the_behalf_was_taken_out, "authority.decision_not_in_audit"),
        (another_was_put_in, "authority.decision_not_in_audit"),
        (it_had_ended_before, "authority.decider_not_eligible"),
        (it_was_for_somebody_else, "authority.decider_not_eligible"),
        (nobody_named_them, "ready"),
        (it_is_over, "authority.decider_not_eligible"),
    ],
)
def test_it_is_judged_again_when_it_is_used(
    change: Callable[[Absence], None], code: str
) -> None:
    """Ending it by its verb takes nothing back; rewriting when it was, does."""
    case = absence()
    case.answer()
    change(case)
    assert work_all(case.stage, case.request) == [code]


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 2, st.booleans(), st.booleans())))
def test_no_person_is_behind_two_keys(given: list[tuple[int, int, bool, bool]]) -> None:
    """Whatever rows there are, also such as no verb would have written."""
    rows: list[Any] = [
        SimpleNamespace(
            id=number,
            member_id=person,
            on_behalf_of_id=behalf if through else None,
            verdict=V.APPROVE if approves else V.REJECT,
            valid=person != behalf,
        )
        for number, (person, behalf, through, approves) in enumerate(given)
    ]
    valid = {row.id for row in rows if row.valid}
    keys = [*distinct(rows, valid, V.APPROVE), *distinct(rows, valid, V.REJECT)]
    behind = [person for key in keys for person in key.people]
    assert len(behind) == len(set(behind))
    if any(row.valid for row in rows):
        assert keys
