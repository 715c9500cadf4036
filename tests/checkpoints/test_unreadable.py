"""What cannot be restored: parked, told in its own words, on record."""

import pytest

from checkpoints.models import Effect
from checkpoints.services import restore_checkpoint
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Run, Session
from sessions.services import start_run
from tenants.principal import Principal
from tests.chain import kinds_of
from tests.checkpoints.tampering import tamper
from tests.checkpoints.test_checkpoints import TAMPERINGS, at, save
from tests.checkpoints.test_restores import define, from_release, reports, stored
from tests.checkpoints.test_restores import kind as kind
from tests.checkpoints.test_restores import old as old
from tests.factories import House
from tests.refusals import refused
from tests.sessions.test_runs import move, now_of

REFUSALS: dict[str, tuple[int, bytes, str, str]] = {
    "newer": (9, b"precious", "newer", "a newer release saved it"),
    "no step": (3, b"precious", "no_step", "no upgrade leads from there"),
    "step fails": (1, b"poison", "step_failed", "ValueError"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_read_parks_the_run_and_says_what_to_do(
    who: Principal, old: Run, case: str
) -> None:
    version, payload, reason, said = REFUSALS[case]
    from_release(old, version, payload)
    with pytest.raises(Problem) as raised:
        restore_checkpoint(who=who, run_id=old.id)
    problem, parked, left = raised.value, now_of(old), stored(old)

    assert (problem.code, problem.extra["reason"]) == ("schema_unsupported", reason)
    assert said in problem.document()["detail"]
    assert (parked.state, left.schema_version) == ("needs_attention", version)
    assert bytes(left.payload) == payload
    assert said in parked.reason
    assert kinds_of(who.tenant_id, left.id)[1:] == ["checkpoint.refused"]
    ((kept),) = reports(old)
    assert (kept.code, kept.report["reason"]) == ("schema_unsupported", reason)
    assert kept.report["digest_ok"]


def test_every_refusal_is_told_in_its_own_words(
    house: House, who: Principal, session: Session, kind: str
) -> None:
    told = set()
    for case in [*REFUSALS, "corrupted"]:
        define(house, kind, 1)
        run, _ = start_run(who=who, session_id=session.id, workflow=kind)
        save(who, run, at(None, b"precious"))
        define(house, kind, 5)
        if case == "corrupted":
            tamper("checkpoints_checkpoint", "payload = 'prec'", stored(run).id)
        else:
            from_release(run, *REFUSALS[case][:2])
        with pytest.raises(Problem) as raised:
            restore_checkpoint(who=who, run_id=run.id)
        told.add(raised.value.document()["detail"])
    assert len(told) == 4


def test_a_failed_recovery_of_a_paused_run_is_on_record_and_moves_nothing(
    who: Principal, run: Run
) -> None:
    saved = save(who, run, at(None))
    move(who, run, "paused")
    tamper("checkpoints_checkpoint", TAMPERINGS["payload"], saved.id)
    for _ in range(2):
        with refused("checkpoint_corrupted"):
            restore_checkpoint(who=who, run_id=run.id)
    assert now_of(run).state == "paused"
    assert kinds_of(who.tenant_id, saved.id)[1:] == ["checkpoint.refused"]
    ((kept),) = reports(run)
    assert not kept.report["digest_ok"]


def test_a_run_let_go_on_by_a_person_is_parked_again(who: Principal, run: Run) -> None:
    saved = save(who, run, at(None))
    tamper("checkpoints_checkpoint", TAMPERINGS["payload"], saved.id)
    for _ in range(2):
        with refused("checkpoint_corrupted"):
            restore_checkpoint(who=who, run_id=run.id)
        assert now_of(run).state == "needs_attention"
        move(who, run, "resuming", "running")


def test_of_a_damaged_checkpoint_nothing_is_told(who: Principal, run: Run) -> None:
    saved = save(who, run, at(None))
    tamper("checkpoints_checkpoint", TAMPERINGS["header"], saved.id)
    with refused("checkpoint_corrupted"):
        restore_checkpoint(who=who, run_id=run.id)
    assert "send" not in str(reports(run)[0].report)


def test_what_happened_is_not_erased_by_reading(who: Principal, run: Run) -> None:
    """Reading is reading: no effect, no checkpoint, no fence comes of it."""
    save(who, run, at(None))
    before = now_of(run)
    restore_checkpoint(who=who, run_id=run.id)
    after = now_of(run)
    assert (after.fence, after.version, after.head_number) == (
        before.fence,
        before.version,
        before.head_number,
    )
    with tenant_transaction(run.tenant_id):
        assert not Effect.objects.filter(run_id=run.id).exists()
