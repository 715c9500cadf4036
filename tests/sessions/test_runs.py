"""A run has one writer at a time, and ends once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kernel.clock import ClockTimestamp, database_now
from kernel.scope import tenant_transaction
from sessions.contract import Claim
from sessions.models import Provenance, Run, Session, Transition, Workflow
from sessions.runs import lock_run, move_run, release_lease, take_lease
from sessions.services import (
    cancel_run,
    claim_run,
    complete_run,
    define_workflow,
    fail_run,
    heartbeat,
    record_transition,
    start_run,
)
from tenants.principal import Principal
from tenants.verbs import Verb, perform
from tests.chain import kinds_of
from tests.concurrency import together
from tests.factories import House, fresh_key
from tests.refusals import refused

WRITES: dict[str, Callable[[Principal, Run, int], Any]] = {
    "heartbeat": lambda who, run, fence: heartbeat(who=who, run_id=run.id, fence=fence),
    "record": lambda who, run, fence: record_transition(
        who=who,
        run_id=run.id,
        fence=fence,
        expected_version=run.version,
        facts={"po_matched": Claim(value=True, provenance=Provenance.MODEL)},
    ),
    "complete": lambda who, run, fence: complete_run(
        who=who, run_id=run.id, fence=fence
    ),
    "fail": lambda who, run, fence: fail_run(
        who=who, run_id=run.id, fence=fence, reason="no"
    ),
    "cancel": lambda who, run, fence: cancel_run(
        who=who, run_id=run.id, fence=fence, reason="no"
    ),
}


def now_of(run: Run) -> Run:
    with tenant_transaction(run.tenant_id):
        return Run.objects.select_related("workflow").get(id=run.id)


def expire(run: Run) -> None:
    with tenant_transaction(run.tenant_id):
        Run.objects.filter(id=run.id).update(
            due_at=ClockTimestamp() - timedelta(seconds=1)
        )


def move(who: Principal, run: Run, *states: str) -> None:
    def work(verb: Verb) -> None:
        locked = lock_run(run.id)
        for state in states:
            move_run(verb, locked, state, actor=who.actor, reason="test")

    perform(who.tenant_id, work)


def test_a_run_starts_claimed_by_who_started_it(who: Principal, run: Run) -> None:
    stored = now_of(run)
    assert (stored.state, stored.fence, stored.lease_holder) == (
        "running",
        1,
        who.key_id,
    )
    assert stored.due_at is not None
    assert stored.workflow.kind == "default"
    assert kinds_of(who.tenant_id, run.id) == ["run.started"]


def test_the_default_workflow_is_made_once(who: Principal, session: Session) -> None:
    made = together(*[lambda: start_run(who=who, session_id=session.id)] * 4)
    assert not [each for each in made if isinstance(each, Exception)]
    with tenant_transaction(who.tenant_id):
        assert Workflow.objects.filter(tenant_id=who.tenant_id).count() == 1


def test_an_unknown_kind_of_work_is_refused(who: Principal, session: Session) -> None:
    with refused("workflow_unknown", status=422):
        start_run(who=who, session_id=session.id, workflow="invoice")


def test_a_run_keeps_the_version_it_started_under(
    house: House, who: Principal, session: Session
) -> None:
    def define(initial: str) -> None:
        definition = {"stages": {"first": [], "second": []}, "initial": initial}
        define_workflow(
            tenant_id=house.id, by=house.alice.id, kind="invoice", definition=definition
        )

    define("first")
    old, _ = start_run(who=who, session_id=session.id, workflow="invoice")
    define("second")
    new, _ = start_run(who=who, session_id=session.id, workflow="invoice")

    assert (old.stage, new.stage) == ("first", "second")
    assert (old.workflow.version, new.workflow.version) == (1, 2)


def test_an_external_id_finds_the_run_and_does_not_claim_it(
    who: Principal, session: Session
) -> None:
    first, new = start_run(who=who, session_id=session.id, external_id="TASK-1842")
    again, second = start_run(who=who, session_id=session.id, external_id="TASK-1842")

    assert (new, second) == (True, False)
    assert (again.id, again.fence) == (first.id, 1)


def test_a_live_lease_keeps_others_out(house: House, who: Principal, run: Run) -> None:
    other = fresh_key(house.alice, house.robot.agent).principal
    with refused("lease_held", status=409):
        claim_run(who=other, run_id=run.id)
    assert now_of(run).fence == 1


def test_the_holder_may_claim_again_and_is_its_own_successor(
    who: Principal, run: Run
) -> None:
    assert claim_run(who=who, run_id=run.id).fence == 2
    with refused("stale_writer"):
        heartbeat(who=who, run_id=run.id, fence=1)


def test_the_lease_ends_by_the_databases_clock(
    house: House, who: Principal, run: Run
) -> None:
    other = fresh_key(house.alice, house.robot.agent).principal
    expire(run)
    claimed = claim_run(who=other, run_id=run.id, lease_seconds=30)

    assert (claimed.fence, claimed.lease_holder) == (2, other.key_id)
    assert claimed.due_at is not None
    left = claimed.due_at - database_now()
    assert timedelta(seconds=25) < left <= timedelta(seconds=30)
    with refused("stale_writer"):
        heartbeat(who=who, run_id=run.id, fence=1)


def test_of_two_claimers_at_once_one_wins(house: House, run: Run) -> None:
    first = fresh_key(house.alice, house.robot.agent).principal
    second = fresh_key(house.alice, house.robot.agent).principal
    expire(run)
    outcomes = together(
        lambda: claim_run(who=first, run_id=run.id),
        lambda: claim_run(who=second, run_id=run.id),
    )
    winners = [each for each in outcomes if isinstance(each, Run)]
    assert len(winners) == 1
    assert [each.code for each in outcomes if each not in winners] == ["lease_held"]  # type: ignore[union-attr]
    assert now_of(run).lease_holder == winners[0].lease_holder


def test_a_heartbeat_extends_and_leaves_the_fence(who: Principal, run: Run) -> None:
    extended = heartbeat(who=who, run_id=run.id, fence=1, lease_seconds=600)
    assert extended.fence == 1
    assert extended.due_at is not None
    assert run.due_at is not None
    assert extended.due_at > run.due_at + timedelta(seconds=500)


@pytest.mark.parametrize("write", WRITES)
def test_a_stale_writer_writes_nothing(who: Principal, run: Run, write: str) -> None:
    claim_run(who=who, run_id=run.id)
    before = now_of(run)
    with refused("stale_writer", status=409):
        WRITES[write](who, run, 1)
    after = now_of(run)
    assert (after.state, after.version, after.due_at) == (
        before.state,
        before.version,
        before.due_at,
    )


@pytest.mark.parametrize("write", WRITES)
def test_a_stranger_finds_nothing_to_write_to(
    run: Run, strangers: dict[str, Principal], write: str
) -> None:
    for stranger in strangers.values():
        with refused("not_found", status=404):
            WRITES[write](stranger, run, 1)
        with refused("not_found", status=404):
            claim_run(who=stranger, run_id=run.id)


@pytest.mark.parametrize("write", WRITES)
def test_nothing_is_written_to_a_run_that_ended(
    who: Principal, run: Run, write: str
) -> None:
    complete_run(who=who, run_id=run.id, fence=1, result={"external_id": "CR-771"})
    with refused("run_ended", status=409):
        WRITES[write](who, run, 1)
    with refused("run_ended", status=409):
        claim_run(who=who, run_id=run.id)


def test_ending_keeps_the_result_and_gives_up_the_lease(
    who: Principal, run: Run
) -> None:
    complete_run(who=who, run_id=run.id, fence=1, result={"external_id": "CR-771"})
    ended = now_of(run)

    assert (ended.state, ended.result) == ("completed", {"external_id": "CR-771"})
    assert (ended.lease_holder, ended.due_at) == (None, None)
    assert ended.ended_at is not None
    assert kinds_of(who.tenant_id, run.id) == ["run.started", "run.completed"]


def test_a_credential_in_a_result_or_reason_is_never_stored(
    who: Principal, session: Session
) -> None:
    key = "AKIA" + "A2B3C4D5E6F7G2H3"
    first, _ = start_run(who=who, session_id=session.id)
    complete_run(who=who, run_id=first.id, fence=1, result={"used": [key]})
    (used,) = now_of(first).result["used"]
    assert used.startswith("[redacted: AWS access key, ")
    second, _ = start_run(who=who, session_id=session.id)
    fail_run(who=who, run_id=second.id, fence=1, reason=f"{key} was refused")
    assert now_of(second).reason == f"{used} was refused"


def test_a_paused_run_ends_only_together_with_what_it_asked(
    who: Principal, run: Run
) -> None:
    closed: list[str] = []

    def closing(verb: Verb, paused: Run) -> None:
        closed.append(paused.state)

    move(who, run, "paused")
    with refused("pause_open", status=409):
        complete_run(who=who, run_id=run.id, fence=1)
    with refused("pause_open", status=409):
        cancel_run(who=who, run_id=run.id, fence=1, reason="no longer wanted")
    cancel_run(
        who=who, run_id=run.id, fence=1, reason="no longer wanted", closing=closing
    )
    assert closed == ["paused"]
    assert now_of(run).state == "cancelled"


def test_what_only_a_person_can_resolve_no_agent_ends(who: Principal, run: Run) -> None:
    move(who, run, "needs_attention")
    for end in ("complete", "fail", "cancel"):
        with refused("wrong_state", status=409):
            WRITES[end](who, run, 1)


def test_a_released_lease_is_free_and_its_fence_still_the_latest(
    house: House, who: Principal, run: Run
) -> None:
    perform(who.tenant_id, lambda verb: release_lease(lock_run(run.id)))
    heartbeat(who=who, run_id=run.id, fence=1)

    worker = house.robot.key.id

    def work(verb: Verb) -> int:
        locked = lock_run(run.id)
        take_lease(verb, locked, holder=worker, seconds=10, actor=who.actor)
        return locked.fence

    assert perform(who.tenant_id, work) == 2


def test_each_step_of_a_run_is_in_its_history(who: Principal, run: Run) -> None:
    move(who, run, "paused", "resuming", "running")
    with tenant_transaction(who.tenant_id):
        rows = Transition.objects.filter(run_id=run.id).order_by("seq")
        steps = list(rows.values_list("seq", "from_state", "to_state"))
    assert steps == [
        (1, "", "running"),
        (2, "running", "paused"),
        (3, "paused", "resuming"),
        (4, "resuming", "running"),
    ]
