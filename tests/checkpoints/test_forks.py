"""A fork begins where a checkpoint is, and has nothing that anybody agreed to."""

from functools import partial
from typing import Any

import pytest

from approvals.models import Decision, Grant, Pause, Request, ResumeJob
from checkpoints.models import Checkpoint, Effect, Fork
from checkpoints.services import fork_run, restore_checkpoint
from checkpoints.services.forks import Forked
from kernel.scope import tenant_transaction
from sessions.contract import Claim
from sessions.models import Fact, Run, Session
from sessions.redaction import redacted_text
from sessions.services import (
    append_items,
    cancel_run,
    complete_run,
    record_transition,
    start_run,
)
from tenants.principal import Principal
from tests.api import Api
from tests.approvals.stage import fresh_stage
from tests.chain import kinds_of
from tests.checkpoints.steps import managed_tool, report, start
from tests.checkpoints.tampering import tamper
from tests.checkpoints.test_checkpoints import HEADER, TAMPERINGS, at, numbers, save
from tests.checkpoints.test_restores import define, kind, old, reports, stored
from tests.concurrency import together
from tests.factories import House
from tests.refusals import refused
from tests.sessions.said import raws
from tests.sessions.test_api import code, said
from tests.sessions.test_runs import now_of

__all__ = ["kind", "old"]


def fork(who: Principal, run: Run, number: int, **more: Any) -> Forked:
    return fork_run(who=who, run_id=run.id, number=number, **more)


def forks(run: Run) -> list[Fork]:
    with tenant_transaction(run.tenant_id):
        return list(Fork.objects.filter(source_id=run.id))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_fork_begins_at_any_checkpoint(who: Principal, run: Run, number: int) -> None:
    for parent in (None, 1, 2):
        save(who, run, at(parent, b"\x00%d" % ((parent or 0) + 1)))
    before = now_of(run)
    forked = fork(who, run, number, reason="Another way.")
    read = restore_checkpoint(who=who, run_id=forked.run.id)

    assert read.restored.content.payload == b"\x00%d" % number
    assert read.restored.content.header == HEADER
    assert (read.checkpoint.number, read.checkpoint.parent) == (1, None)
    assert read.checkpoint.closes == []
    assert forked.run.id != run.id
    assert forked.run.session_id == run.session_id
    assert (forked.run.state, forked.run.fence) == ("running", 1)
    ((kept),) = forks(run)
    assert (kept.run_id, kept.number, kept.reason) == (
        forked.run.id,
        number,
        "Another way.",
    )
    assert kinds_of(who.tenant_id, forked.run.id) == ["run.started", "run.forked"]
    assert kinds_of(who.tenant_id, stored(run, number).id) == [
        "checkpoint.saved",
        "checkpoint.restored",
    ]
    after = now_of(run)
    assert (after.state, after.fence, after.head_number, after.version) == (
        before.state,
        before.fence,
        before.head_number,
        before.version,
    )


def test_a_credential_in_the_reason_is_told_from_others_and_not_kept(
    who: Principal, run: Run
) -> None:
    save(who, run, at(None))
    reasons = [f"It said AKIA{letter * 16} there." for letter in "AB"]
    kept = [fork(who, run, 1, reason=reason).fork.reason for reason in reasons]
    with tenant_transaction(who.tenant_id):
        assert kept == [redacted_text(reason, who.tenant_id) for reason in reasons]
    assert len(set(kept)) == 2


def test_both_go_on_by_themselves(who: Principal, run: Run) -> None:
    save(who, run, at(None, b"1"))
    save(who, run, at(1, b"2"))
    forked = fork(who, run, 1).run
    save(who, forked, at(1, b"other"))
    save(who, run, at(2, b"3"))
    assert (numbers(run), numbers(forked)) == ([1, 2, 3], [1, 2])


def test_a_fork_goes_on_with_what_was_said_on_its_sources_branch(
    who: Principal, run: Run, session: Session
) -> None:
    source, _ = start_run(who=who, session_id=session.id)
    append_items(who=who, session_id=session.id, items=['"aside"'], branch=1)
    save(who, source, at(None))
    complete_run(who=who, run_id=run.id, fence=1)
    forked = fork(who, source, 1).run

    assert (source.branch, forked.branch) == (1, 2)
    assert raws(who, session, 2) == ['"aside"']
    assert raws(who, session) == []


def test_a_fork_inherits_no_authority() -> None:
    """The source has facts, an approval with its grant and job, and a question."""
    stage = fresh_stage()
    who = stage.house.robot.principal
    run = stage.run()
    record_transition(
        who=who,
        run_id=run.id,
        fence=run.fence,
        expected_version=0,
        facts={
            "matched": Claim(
                value=True, provenance="tool", reference="compare", evidence_digest="ab"
            )
        },
    )
    approved, _ = stage.ask_all([{}, {}], stage.fresh(run))
    stage.answer(approved)
    number = stage.fresh(run).head_number
    assert number is not None
    forked = fork(who, run, number).run

    with tenant_transaction(stage.tenant_id):
        assert Request.objects.filter(run_id=run.id).count() == 2
        for model in (Request, Pause, Effect, Fact):
            assert not model.objects.filter(run_id=forked.id).exists(), model
        requests = Request.objects.filter(run_id=run.id).values("id")
        for model in (Grant, Decision, ResumeJob):
            of = model.objects.exclude(request_id__in=requests)
            assert not of.exists(), model
        assert Checkpoint.objects.get(run_id=forked.id).closes == []
    assert stage.fresh(run).state == "paused"
    assert stage.fresh(approved).state == "approved"
    assert forked.stage == ""
    assert forked.version == 0


def test_an_older_schema_begins_anew_in_todays(who: Principal, old: Run) -> None:
    forked = fork(who, old, 1)
    first = stored(forked.run)
    assert (first.schema_version, bytes(first.payload)) == (5, b"precious++")
    assert bytes(stored(old).payload) == b"precious"
    assert forked.restoration.report["schema"]["found"] == 1
    assert forked.run.workflow.version == 2


def test_what_todays_workflow_cannot_read_is_no_beginning(
    house: House, who: Principal, old: Run, kind: str
) -> None:
    define(house, kind, 9)
    with refused("schema_unsupported", status=409):
        fork(who, old, 1)
    assert forks(old) == []


def test_a_damaged_checkpoint_is_no_beginning_and_an_earlier_one_is(
    who: Principal, run: Run
) -> None:
    save(who, run, at(None, b"good"))
    bad = save(who, run, at(1, b"bad"))
    tamper("checkpoints_checkpoint", TAMPERINGS["payload"], bad.id)
    with refused("checkpoint_corrupted", status=409):
        fork(who, run, 2)
    assert (forks(run), kinds_of(who.tenant_id, bad.id)[1:]) == (
        [],
        ["checkpoint.refused"],
    )
    assert [one.door for one in reports(run)] == ["fork"]
    forked = fork(who, run, 1)
    assert bytes(stored(forked.run).payload) == b"good"


@pytest.mark.parametrize("outcome", ["", "unknown"])
def test_what_is_not_settled_is_not_forked_around(
    house: House, who: Principal, run: Run, outcome: str
) -> None:
    save(who, run, at(None))
    effect = start(who, run, managed_tool(house))
    if outcome:
        report(who, effect, outcome)
    with refused("effects_open", status=409):
        fork(who, run, 1)
    assert forks(run) == []


def test_a_fork_of_a_fork_knows_what_was_done_before_it(
    house: House, who: Principal, run: Run
) -> None:
    save(who, run, at(None))
    effect = start(who, run, managed_tool(house))
    report(who, effect, "confirmed", "CR-771")
    first = fork(who, run, 1).run
    second = fork(who, first, 1)
    found = restore_checkpoint(who=who, run_id=second.run.id).report
    for each in (second.restoration.report, found):
        assert [one["external_id"] for one in each["effects"]["done"]] == ["CR-771"]


def test_a_run_that_ended_can_be_gone_on_from(who: Principal, run: Run) -> None:
    save(who, run, at(None))
    cancel_run(who=who, run_id=run.id, fence=1, reason="Wrong way.")
    assert fork(who, run, 1).run.state == "running"
    assert now_of(run).state == "cancelled"


def test_eight_forks_at_once_are_eight_runs(who: Principal, run: Run) -> None:
    save(who, run, at(None))
    made = together(*[partial(fork, who, run, 1) for _ in range(8)])
    assert len({each.run.id for each in made}) == 8  # type: ignore[union-attr]
    assert len(reports(run)) == 1


def test_what_is_not_there_is_not_forked(
    who: Principal, run: Run, strangers: dict[str, Principal]
) -> None:
    with refused("not_found", status=404):
        fork(who, run, 1)
    save(who, run, at(None))
    with refused("not_found", status=404):
        fork(who, run, 2)
    for stranger in strangers.values():
        with refused("not_found", status=404):
            fork(stranger, run, 1)
    assert forks(run) == []


def test_a_fork_over_http_is_made_once(house: House, who: Principal, run: Run) -> None:
    api = Api.of(house.robot)
    save(who, run, at(None, b"{}"))
    save(who, run, at(1, b"[]"))
    path = f"runs/{run.id}/checkpoints/1/fork"
    body = {"reason": "Try again.", "lease_seconds": 30}
    first = said(api.post(path, body, Idempotency_Key="one"), 201)
    again = said(api.post(path, body, Idempotency_Key="one"), 201)
    other = api.post(path, {"reason": "No."}, Idempotency_Key="one")

    assert first == again
    assert code(other) == (422, "idempotency_mismatch")
    assert len(forks(run)) == 1
    assert first["forked_from"] == {
        "run": str(run.id),
        "number": 1,
        "reason": "Try again.",
    }
    assert first["run"]["head"] == {
        "number": 1,
        "digest": first["checkpoint"]["digest"],
    }
    assert first["run"]["open_requests"] == []
    assert first["restored"]["checkpoint"] == 1
    head = said(api.post(f"runs/{first['run']['id']}/checkpoints/head/restore"))
    assert head["payload"] == "{}"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"parent": 1}, "/parent"),
        ({"reason": 1}, "/reason"),
        ({"lease_seconds": 0}, "/lease_seconds"),
        ({"reason": "x" * 2_001}, "/reason"),
    ],
)
def test_a_malformed_fork_is_refused_at_its_place(
    house: House, who: Principal, run: Run, body: dict[str, Any], pointer: str
) -> None:
    save(who, run, at(None))
    answer = Api.of(house.robot).post(f"runs/{run.id}/checkpoints/1/fork", body)
    assert (answer.status_code, answer.json()["pointer"]) == (400, pointer)
