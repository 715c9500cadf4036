"""One person answers one revision: rights, races, deadlines, edits, answers."""

import threading
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db import connections

from approvals.envelope import Envelope
from approvals.models import (
    Decision,
    Grant,
    Policy,
    Request,
    ResumeJob,
    Revision,
)
from approvals.services.case import Answer
from approvals.services.decide import decide
from approvals.services.policies import cosign_policy
from approvals.services.revise import revise
from approvals.services.revoke import revoke
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.hooks import hooks
from sessions.services.runs import cancel_run
from tenants.models import Role
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.factories import fresh_member

V = Decision.Verdict


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def refused(code: str) -> Any:
    """The verb refuses with exactly this code."""
    return pytest.raises(Problem, match=f"^{code}")


def in_database(stage: Stage, request: Request) -> tuple[list[Decision], list[Grant]]:
    with tenant_transaction(stage.tenant_id):
        return (
            list(Decision.objects.filter(request=request).order_by("created_at")),
            list(Grant.objects.filter(request=request)),
        )


def test_one_approval_makes_one_grant_and_one_job(stage: Stage) -> None:
    request = stage.ask()
    assert stage.answer(request).state == Request.State.APPROVED
    decisions, grants = in_database(stage, request)
    assert [one.verdict for one in decisions] == [V.APPROVE]
    assert [one.state for one in grants] == [Grant.State.LIVE]
    with tenant_transaction(stage.tenant_id):
        assert ResumeJob.objects.get(request=request).kind == "act"


def test_the_title_is_made_of_the_exact_action(stage: Stage) -> None:
    assert stage.ask().title == "Pay 1240.00 to Halden Paper Supply"


def test_nobody_of_the_requesters_side_turns_a_key(stage: Stage) -> None:
    request = stage.ask()
    with refused("own_request"):
        stage.answer(request, by=stage.house.alice)
    assert in_database(stage, request) == ([], [])


def test_a_stranger_finds_nothing(stage: Stage) -> None:
    request = stage.ask()
    with refused("not_found"):
        stage.answer(request, by=stage.house.charlie, digest=b"\0" * 32)


def test_a_stale_tab_decides_nothing(stage: Stage) -> None:
    request = stage.ask()
    seen = stage.digest(request)
    stage.answer(request, verdict=V.REQUEST_CHANGES, reason="Less, please.")
    revise(
        stage.house.robot.principal,
        request_id=request.id,
        arguments={**ARGUMENTS, "amount": "900.00"},
    )
    with refused("digest_changed"):
        stage.answer(request, by=stage.reviewer(), digest=seen)
    assert stage.answer(request).state == Request.State.APPROVED


def test_the_first_answer_wins_and_the_second_hears_of_it(stage: Stage) -> None:
    request, carol = stage.ask(), stage.reviewer()
    stage.answer(request)
    with refused("already_decided"):
        stage.answer(request, by=carol, verdict=V.REJECT, reason="No.")
    assert len(in_database(stage, request)[0]) == 1


def test_eight_at_once_make_one_decision(stage: Stage) -> None:
    request, digest = stage.ask(), None
    digest = stage.digest(request)
    people = [stage.bob, *(stage.reviewer(f"R{n}") for n in range(7))]
    start, outcomes = threading.Barrier(len(people)), []

    def decide_now(who: Any) -> None:
        start.wait()
        try:
            stage.answer(request, by=who, digest=digest)
            outcomes.append("decided")
        except Problem as problem:
            outcomes.append(problem.code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=decide_now, args=(one,)) for one in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["already_decided"] * 7 + ["decided"]
    decisions, grants = in_database(stage, request)
    assert (len(decisions), len(grants)) == (1, 1)


def test_a_decision_after_the_deadline_is_refused_and_expires(stage: Stage) -> None:
    request = stage.ask(decide_within=1)
    with tenant_transaction(stage.tenant_id):
        # Time is the database's: the deadline is moved, not the clock.
        from kernel.clock import ClockTimestamp

        Request.objects.filter(id=request.id).update(due_at=ClockTimestamp())
    with refused("expired"):
        stage.answer(request)
    assert stage.fresh(request).state == Request.State.EXPIRED
    assert in_database(stage, request) == ([], [])


def test_two_keys_are_two_people(stage: Stage) -> None:
    stage.policy(rules=[{"approvals": 2}])
    request, carol = stage.ask(), stage.reviewer()
    assert stage.answer(request).state == Request.State.PENDING
    with refused("answered_before"):
        stage.answer(request)
    assert stage.answer(request, by=carol).state == Request.State.APPROVED


def test_an_edit_dismisses_keys_and_asks_policy_again(stage: Stage) -> None:
    stage.policy(rules=[{"approvals": 2}])
    request, carol = stage.ask(), stage.reviewer()
    stage.answer(request)
    edited = stage.answer(
        request,
        by=carol,
        verdict=V.EDIT,
        arguments={**ARGUMENTS, "amount": "124.00"},
        reason="A decimal slipped.",
    )
    assert (edited.state, edited.revision) == (Request.State.PENDING, 2)
    decisions, grants = in_database(stage, request)
    assert [bool(one.dismissed_at) for one in decisions] == [True, True]
    assert grants == []
    with refused("own_request"):
        stage.answer(request, by=carol)


def test_a_small_edit_is_also_the_editors_key() -> None:
    stage = fresh_stage()
    stage.policy(editor_counts=True)
    request = stage.ask()
    edited = stage.answer(
        request, verdict=V.EDIT, arguments={**ARGUMENTS, "amount": "1.00"}
    )
    assert edited.state == Request.State.APPROVED
    assert edited.title == "Pay 1.00 to Halden Paper Supply"


@pytest.mark.parametrize(
    ("arguments", "code", "pointer"),
    [
        (ARGUMENTS, "arguments_unchanged", "/arguments"),
        ({**ARGUMENTS, "amount": 1}, "arguments_invalid", "/arguments/amount"),
        ({"payee": "x"}, "arguments_invalid", "/arguments"),
        (None, "arguments_invalid", "/arguments"),
    ],
)
def test_an_edit_must_fit(
    stage: Stage, arguments: Any, code: str, pointer: str
) -> None:
    request = stage.ask()
    with refused(code) as problem:
        stage.answer(request, verdict=V.EDIT, arguments=arguments)
    assert problem.value.pointer == pointer
    assert stage.fresh(request).revision == 1


def test_an_answer_goes_back_without_the_action(stage: Stage) -> None:
    request = stage.ask(response_schema={"enum": ["ship", "hold"]})
    with refused("response_invalid"):
        stage.answer(request, verdict=V.RESPOND, response="maybe")
    answered = stage.answer(request, verdict=V.RESPOND, response="hold")
    assert answered.state == Request.State.ANSWERED
    assert stage.fresh(request).response == "hold"
    assert in_database(stage, request)[1] == []


def test_an_answer_has_the_form_that_was_asked_for(stage: Stage) -> None:
    request = stage.ask(response_schema={"type": "string", "format": "date"})
    with refused("response_invalid"):
        stage.answer(request, verdict=V.RESPOND, response="soon")
    stage.answer(request, verdict=V.RESPOND, response="2026-12-07")
    assert stage.fresh(request).state == "answered"


def test_a_rejection_says_why(stage: Stage) -> None:
    request = stage.ask()
    with refused("reason_needed"):
        stage.answer(request, verdict=V.REJECT, reason="  ")
    rejected = stage.answer(request, verdict=V.REJECT, reason="Wrong supplier.")
    assert rejected.state == Request.State.REJECTED
    assert stage.fresh(request).resolution == "Wrong supplier."


def test_only_offered_answers_are_taken(stage: Stage) -> None:
    request = stage.ask(allowed=["approve", "reject"])
    with refused("verdict_not_allowed"):
        stage.answer(request, verdict=V.RESPOND, response="x")


def test_policy_can_refuse_or_let_through_at_once(stage: Stage) -> None:
    stage.let_through("small", selector="arguments.amount == '1.00'")
    stage.policy("never", verdict="deny", selector="arguments.payee == 'Mallory'")
    small = stage.ask(arguments={**ARGUMENTS, "amount": "1.00"})
    never = stage.ask(arguments={**ARGUMENTS, "payee": "Mallory"})
    assert (small.state, never.state) == ("approved", "rejected")
    decisions, grants = in_database(stage, small)
    assert decisions[0].member_id is None
    assert len(grants) == 1


def test_revoking_is_legal_until_it_is_used(stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request)
    revoke(stage.bob.person, request_id=request.id, reason="Second thoughts.")
    assert stage.fresh(request).state == Request.State.REVOKED
    assert in_database(stage, request)[1][0].state == Grant.State.REVOKED
    with refused("not_approved"):
        revoke(stage.bob.person, request_id=request.id, reason="Again.")


def test_jobs_wait_for_every_question_of_the_pause(stage: Stage) -> None:
    first, second = stage.ask_all([{}, {"arguments": {**ARGUMENTS, "amount": "2.00"}}])

    def jobs() -> int:
        with tenant_transaction(stage.tenant_id):
            return ResumeJob.objects.count()

    stage.answer(first)
    assert jobs() == 0
    stage.answer(second, verdict=V.REJECT, reason="No.")
    assert jobs() == 2


def test_what_policy_lets_through_waits_for_the_rest_of_the_pause(
    stage: Stage,
) -> None:
    stage.let_through("small", selector="arguments.amount == '1.00'")
    let_through, asked = stage.ask_all(
        [{"arguments": {**ARGUMENTS, "amount": "1.00"}}, {}]
    )
    assert let_through.state == Request.State.APPROVED
    with tenant_transaction(stage.tenant_id):
        assert not ResumeJob.objects.exists()
    stage.answer(asked)
    with tenant_transaction(stage.tenant_id):
        assert ResumeJob.objects.count() == 2


def test_a_run_that_ends_takes_its_questions_back(stage: Stage) -> None:
    run = stage.run()
    open_one, approved = stage.ask_all(
        [{}, {"arguments": {**ARGUMENTS, "amount": "2.00"}}], run
    )
    stage.answer(approved)
    cancel_run(
        who=stage.house.robot.principal,
        run_id=run.id,
        fence=run.fence,
        reason="Not needed.",
        closing=hooks.closing,
    )
    assert stage.fresh(open_one).state == Request.State.CANCELLED
    assert stage.fresh(approved).state == Request.State.CANCELLED
    assert in_database(stage, approved)[1][0].state == Grant.State.REVOKED
    assert stage.fresh(run).state == "cancelled"


def test_a_pause_is_all_or_nothing(stage: Stage) -> None:
    run = stage.run()
    with refused("arguments_invalid") as problem:
        stage.ask_all([{}, {"arguments": {"payee": 1}}], run)
    assert problem.value.pointer.startswith("/requests/1/arguments")
    with tenant_transaction(stage.tenant_id):
        assert not Request.objects.exists()
        assert type(run).objects.get(id=run.id).state == "running"


def test_a_credential_in_arguments_is_refused_with_its_place(stage: Stage) -> None:
    secret = "AKIA" + "ABCDEFGH" * 2
    with refused("secret_in_arguments") as problem:
        stage.ask(arguments={**ARGUMENTS, "payee": f"key {secret}"})
    assert problem.value.pointer == "/requests/0/arguments/payee"
    assert secret not in str(problem.value)


@pytest.mark.parametrize(("ago", "fresh"), [(None, False), (30.0, True), (90.0, False)])
def test_a_policy_may_ask_for_a_fresh_sign_in(
    stage: Stage, ago: float | None, fresh: bool
) -> None:
    stage.policy(reauthentication=60)
    request = stage.ask()
    person = replace(stage.bob.person, authenticated_ago=ago)
    answer = Answer(verdict=V.APPROVE, digest=stage.digest(request))
    if not fresh:
        with refused("reauthentication_needed"):
            decide(person, request_id=request.id, answer=answer)
        return
    decide(person, request_id=request.id, answer=answer)
    decision = in_database(stage, request)[0][0]
    at = decision.authentication["at"]
    assert decision.created_at.timestamp() - at == pytest.approx(ago, abs=5)


def test_a_policys_author_lets_nothing_of_their_own_agents_through(
    stage: Stage,
) -> None:
    """An allow by Alice, who answers for the agent, is a key in her own hand."""
    stage.policy("mine", verdict="allow")
    assert stage.ask().state == Request.State.PENDING
    other = fresh_member(stage.house.alice, "Ada", role=Role.ADMIN)
    with refused("policy.own_signature"):
        cosign_policy(tenant_id=stage.tenant_id, by=stage.house.alice.id, name="mine")
    cosign_policy(tenant_id=stage.tenant_id, by=other.id, name="mine")
    assert stage.ask().state == Request.State.APPROVED


@pytest.mark.parametrize(
    ("definition", "pointer"),
    [
        ({"rules": [{"approvals": 9}]}, "/rules/0"),
        ({"rules": [{"eligible": {"members": [str(UUID(int=7))]}}]}, "/rules/0"),
        ({"queue": "nowhere"}, "/queue"),
    ],
)
def test_a_policy_that_nobody_can_satisfy_is_refused(
    stage: Stage, definition: dict[str, Any], pointer: str
) -> None:
    with refused("policy.invalid") as problem:
        stage.policy(**definition)
    assert problem.value.pointer == pointer
    with tenant_transaction(stage.tenant_id):
        assert not Policy.objects.exists()


def test_a_later_revision_has_no_more_time_than_the_agent_asked_for(
    stage: Stage,
) -> None:
    request = stage.ask(use_within=60, decide_within=600)
    stage.answer(request, verdict=V.REQUEST_CHANGES, reason="Less.")
    revise(
        stage.house.robot.principal,
        request_id=request.id,
        arguments={**ARGUMENTS, "amount": "2.00"},
    )
    with tenant_transaction(stage.tenant_id):
        revision = Revision.objects.get(request=request, number=2)
    owed = Envelope(bytes(revision.envelope)).obligation
    assert (owed.use_within, owed.decide_within) == (60, 600)


def test_a_credential_in_the_target_is_refused_and_in_words_is_cut(
    stage: Stage,
) -> None:
    secret = "AKIA" + "ABCDEFGH" * 2
    with refused("secret_in_arguments") as problem:
        stage.ask(target={"url": secret})
    assert problem.value.pointer == "/requests/0/target/url"
    request = stage.ask(explanation=f"I use {secret} for it.")
    assert secret not in stage.fresh(request).explanation
