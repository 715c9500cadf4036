"""The simulator: what a draft would have changed, from what was really asked."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given

from approvals import trial as trials
from approvals.models import Request
from approvals.policy import ActionSubject, evaluate
from approvals.policy.evaluate import Statement
from approvals.policy.trial import Asked, Trial, compare
from approvals.services.policy_drafts import publish_policy_draft, save_policy_draft
from approvals.trial import lately, prepare, with_draft
from kernel.scope import tenant_transaction
from sessions.contract import Claim
from sessions.services import define_workflow
from sessions.services.runs import record_transition, start_run
from sessions.services.sessions import open_session
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.test_policy import ACTION, statements
from tests.factories import fresh_tenant

TWO: dict[str, Any] = {
    "verdict": "require_review",
    "selector": "arguments.amount == '9.00'",
    "rules": [{"approvals": 2}],
}
NINE = {"payee": "Halden", "amount": "9.00"}


def tried(
    stage: Stage,
    definition: dict[str, Any] | None,
    *,
    name: str = "draft",
    author: UUID | None = None,
    limit: int = 500,
    seconds: float = 60,
) -> Trial:
    with tenant_transaction(stage.tenant_id):
        sets = with_draft(name, definition, author)
        prepared = prepare(stage.tenant_id, *sets, lately(limit))
    return prepared.judge(seconds)


def test_it_foretells_what_the_same_question_owes_once_it_is_published() -> None:
    stage = fresh_stage()
    stage.policy("standing", reason="always")
    stage.ask()
    asked = stage.ask(arguments=NINE)
    trial = tried(stage, TWO)
    assert (trial.examined, trial.matched, trial.complete) == (2, 1, True)
    (changed,) = trial.changed
    assert changed.id == asked.id
    draft = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id, "name": "draft"}
    save_policy_draft(**draft, definition=TWO)
    publish_policy_draft(**draft)
    for request, told in (
        (asked, changed.before),
        (stage.ask(arguments=NINE), changed.after),
    ):
        pinned = replace(obligation(stage, request), policies=())
        assert set(pinned.rules) == set(told.rules)
        assert replace(pinned, rules=()) == replace(told, rules=())


def obligation(stage: Stage, request: Request) -> Any:
    from approvals.envelope import Envelope
    from approvals.queries import current_revision

    with tenant_transaction(stage.tenant_id):
        return Envelope(bytes(current_revision(request).envelope)).obligation


def test_what_owes_the_same_is_no_change() -> None:
    stage = fresh_stage()
    stage.policy("standing", rules=[{"approvals": 2}])
    stage.ask(arguments=NINE)
    trial = tried(stage, TWO)
    assert (trial.matched, trial.changed) == (1, ())
    again = tried(
        stage, {"verdict": "require_review", "rules": TWO["rules"]}, name="standing"
    )
    assert again.changed == ()


def test_taking_a_policy_out_of_force_is_tried_too() -> None:
    stage = fresh_stage()
    stage.policy("standing", rules=[{"approvals": 2}])
    stage.ask()
    (changed,) = tried(stage, None, name="standing").changed
    assert (changed.before.approvals_needed, changed.after.approvals_needed) == (2, 1)


def test_an_allow_is_not_foretold_for_its_own_authors_agents() -> None:
    stage = fresh_stage()
    stage.ask()
    allow = {"verdict": "allow"}
    assert tried(stage, allow, author=stage.house.alice.id).changed == ()
    assert len(tried(stage, allow, author=stage.bob.id).changed) == 1


def test_facts_are_those_of_the_time_of_asking() -> None:
    """And a fact whose lifetime was over then was none."""
    stage = fresh_stage()
    definition = {"fields": {"old": {"lifetime": 60}, "checked": {}}}
    define_workflow(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        kind="paying",
        definition=definition,
    )
    who = stage.house.robot.principal
    session = open_session(who=who, subject="customer-7")
    run, _ = start_run(who=who, session_id=session.id, workflow="paying")
    said = {"who": who, "run_id": run.id, "fence": run.fence, "reason": "Looked."}
    claims = {
        name: Claim(value=True, provenance="model") for name in ("checked", "old")
    }
    record_transition(**said, expected_version=0, facts=claims)
    asked = stage.ask(stage.fresh(run))
    later = {"checked": Claim(value=False, provenance="model")}
    record_transition(**said, expected_version=1, facts=later)
    yes = {"verdict": "deny", "selector": "facts.checked"}
    assert [one.id for one in tried(stage, yes).changed] == [asked.id]
    stated = {"verdict": "deny", "selector": "has(facts.old)"}
    with tenant_transaction(stage.tenant_id):
        sets = with_draft("draft", stated, None)
        (then,) = lately(500)
        later_asked = replace(then, at=then.at + timedelta(seconds=61))
        soon = prepare(stage.tenant_id, *sets, [then])
        late = prepare(stage.tenant_id, *sets, [later_asked])
    assert len(soon.judge().changed) == 1
    assert late.judge().changed == ()


def test_it_costs_as_many_statements_for_one_request_as_for_many() -> None:
    stage = fresh_stage()
    stage.policy("standing", selector="has(facts.checked)")

    def cost() -> int:
        with CaptureQueriesContext(connection) as captured:
            tried(stage, TWO)
        return len(captured)

    stage.ask()
    before = cost()
    for _ in range(4):
        stage.ask()
    assert cost() == before


def test_it_is_bounded_in_number_and_in_time() -> None:
    stage = fresh_stage()
    requests = [stage.ask(arguments=NINE) for _ in range(3)]
    newest = tried(stage, TWO, limit=2)
    assert [one.id for one in newest.changed] == [
        requests[2].id,
        requests[1].id,
    ]
    late = tried(stage, TWO, seconds=-1)
    assert (late.examined, late.complete) == (0, False)


def test_no_more_is_held_at_once_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = fresh_stage()
    requests = [stage.ask(arguments=NINE) for _ in range(3)]
    with tenant_transaction(stage.tenant_id):
        (newest, *_) = lately(500)
    assert newest.envelope is not None
    monkeypatch.setattr(trials, "MOST_BYTES", len(newest.envelope) * 3 // 2)
    trial = tried(stage, TWO)
    assert [one.id for one in trial.changed] == [requests[2].id]
    assert (trial.examined, trial.complete) == (1, False)


def test_another_tenants_requests_are_not_examined() -> None:
    stage = fresh_stage()
    stage.ask()
    other, _, _ = fresh_tenant("Zoe")
    with tenant_transaction(other.id):
        assert lately(10_000) == []


@given(statements, statements)
def test_both_sides_are_what_the_evaluator_says(
    before: list[Statement], after: list[Statement]
) -> None:
    trial = compare(before, after, [Asked(id=UUID(int=1), action=ACTION)])
    told = [plain(evaluate(side, ACTION)) for side in (before, after)]
    said = [(plain(one.before), plain(one.after)) for one in trial.changed]
    assert said == ([tuple(told)] if told[0] != told[1] else [])


def plain(owed: Any) -> Any:
    """Without the names of the policies, and without an order of the rules."""
    return replace(owed, policies=(), rules=frozenset(owed.rules))


def test_a_selector_that_errs_is_judged_as_it_would_be() -> None:
    deny = Statement(UUID(int=1), 1, "00", {"verdict": "deny", "selector": "target.x"})
    action: ActionSubject = ACTION
    trial = compare([], [deny], [Asked(id=UUID(int=2), action=action)])
    assert len(trial.changed) == 1
