"""The position check: still at P, or past it only by what P's own requests closed."""

import itertools
from typing import Any
from uuid import UUID

import pytest

from checkpoints.checkpoint import add_checkpoint, close_step
from checkpoints.checks import verify_position
from checkpoints.models import Checkpoint
from kernel.ids import new_id
from kernel.outcome import Passed, Refused
from sessions.models import Run
from sessions.runs import lock_run
from tenants.principal import Principal
from tenants.verbs import Verb, perform
from tests.checkpoints.tampering import tamper
from tests.checkpoints.test_checkpoints import TAMPERINGS, at, save

FIRST, SECOND, FOREIGN = new_id(), new_id(), new_id()


def verify(who: Principal, run: Run, saved: Checkpoint, **change: Any) -> Any:
    """As the four checks ask it: inside a verb, on a locked run."""
    asked: dict[str, Any] = {
        "number": saved.number,
        "digest": bytes(saved.digest),
        "closers": [FIRST, SECOND],
    }
    return perform(
        who.tenant_id, lambda verb: verify_position(lock_run(run.id), **asked | change)
    )


def close(who: Principal, run: Run, *requests: UUID) -> Checkpoint:
    def work(verb: Verb) -> Checkpoint:
        return close_step(
            verb, lock_run(run.id), closes=requests, markers={}, actor=who.actor
        )

    return perform(who.tenant_id, work)


def go_on(who: Principal, run: Run, parent: int) -> Checkpoint:
    """A checkpoint that closes nothing, past the pause that should prevent it."""
    return perform(
        who.tenant_id,
        lambda verb: add_checkpoint(
            verb, lock_run(run.id), at(parent), actor=who.actor
        ),
    )


def code(outcome: Any) -> str:
    assert isinstance(outcome, Refused), outcome
    assert outcome.klass == "stop"
    assert outcome.reason
    return outcome.code


@pytest.fixture
def saved(who: Principal, run: Run) -> Checkpoint:
    """P; there is one before it, which must not matter."""
    save(who, run, at(None, b"before"))
    return save(who, run, at(1, b"P"))


def test_a_run_that_stayed_where_it_was_passes(
    who: Principal, run: Run, saved: Checkpoint
) -> None:
    assert verify(who, run, saved) == Passed(
        {"checkpoint": 2, "head": 2, "schemas": [1], "digests_checked": 1}
    )


@pytest.mark.parametrize(
    "closed",
    [order for n in (1, 2) for order in itertools.permutations((FIRST, SECOND), n)],
)
def test_what_the_same_pause_closed_may_follow(
    who: Principal, run: Run, saved: Checkpoint, closed: tuple[UUID, ...]
) -> None:
    for request in closed:
        close(who, run, request)
    assert isinstance(verify(who, run, saved), Passed)


def test_one_checkpoint_may_close_several(
    who: Principal, run: Run, saved: Checkpoint
) -> None:
    close(who, run, FIRST, SECOND)
    assert isinstance(verify(who, run, saved), Passed)


@pytest.mark.parametrize("closed", [(FOREIGN,), (FIRST, FOREIGN)])
def test_what_another_pause_closed_may_not(
    who: Principal, run: Run, saved: Checkpoint, closed: tuple[UUID, ...]
) -> None:
    close(who, run, FIRST)
    close(who, run, *closed)
    assert code(verify(who, run, saved)) == "position.head_moved"


def test_a_run_that_went_on_by_itself_does_not_pass(
    who: Principal, run: Run, saved: Checkpoint
) -> None:
    go_on(who, run, 2)
    assert code(verify(who, run, saved)) == "position.head_moved"
    close(who, run, FIRST)
    assert code(verify(who, run, saved)) == "position.head_moved"


@pytest.mark.parametrize("number", [3, 99])
def test_a_checkpoint_that_is_not_there_is_not_where_we_are(
    who: Principal, run: Run, saved: Checkpoint, number: int
) -> None:
    assert code(verify(who, run, saved, number=number)) == "position.head_moved"


def test_an_older_checkpoint_is_not_where_we_are(
    who: Principal, run: Run, saved: Checkpoint
) -> None:
    assert code(verify(who, run, saved, number=1)) == "position.checkpoint_corrupted"


def test_another_digest_is_another_checkpoint(
    who: Principal, run: Run, saved: Checkpoint
) -> None:
    refused = verify(who, run, saved, digest=bytes(32))
    assert code(refused) == "position.checkpoint_corrupted"


@pytest.mark.parametrize("which", ["P", "closing"])
@pytest.mark.parametrize("what", ["payload", "header", "header beyond JSON", "digest"])
def test_a_change_anywhere_on_the_way_is_found(
    who: Principal, run: Run, saved: Checkpoint, what: str, which: str
) -> None:
    closing = close(who, run, FIRST)
    changed = saved if which == "P" else closing
    tamper("checkpoints_checkpoint", TAMPERINGS[what], changed.id)
    assert code(verify(who, run, saved)) == "position.checkpoint_corrupted"


def test_a_way_that_was_laid_around_a_checkpoint_is_found(
    who: Principal, run: Run, saved: Checkpoint
) -> None:
    """3 went on by itself; 4 closes; and 4 is made to look as if it followed P."""
    go_on(who, run, 2)
    closing = close(who, run, FIRST)
    tamper("checkpoints_checkpoint", "parent = 2", closing.id)
    assert code(verify(who, run, saved)) == "position.checkpoint_corrupted"


def test_a_checkpoint_that_is_made_to_look_as_if_it_closed_is_found(
    who: Principal, run: Run, saved: Checkpoint
) -> None:
    going = go_on(who, run, 2)
    tamper("checkpoints_checkpoint", f"closes = array['{FIRST}'::uuid]", going.id)
    assert code(verify(who, run, saved)) == "position.checkpoint_corrupted"


def test_a_head_that_was_set_back_is_found(
    who: Principal, run: Run, saved: Checkpoint
) -> None:
    go_on(who, run, 2)
    tamper("agent_sessions_run", "head_number = 2", run.id)
    assert code(verify(who, run, saved)) == "position.checkpoint_corrupted"


def test_a_missing_checkpoint_is_found(
    who: Principal, run: Run, saved: Checkpoint
) -> None:
    closing = close(who, run, FIRST)
    tamper("checkpoints_checkpoint", "number = 50", closing.id)
    assert code(verify(who, run, saved)) == "position.head_moved"


def test_parents_in_a_circle_end(who: Principal, run: Run, saved: Checkpoint) -> None:
    closing = close(who, run, FIRST)
    close(who, run, SECOND)
    alter = "alter table checkpoints_checkpoint drop constraint checkpoint_has_parent"
    from tests.checkpoints.tampering import superuser_says

    superuser_says(alter)
    try:
        tamper("checkpoints_checkpoint", "parent = 4", closing.id)
        assert code(verify(who, run, saved)) == "position.head_moved"
        tamper("checkpoints_checkpoint", "parent = 2", closing.id)
    finally:
        superuser_says(
            "alter table checkpoints_checkpoint add constraint checkpoint_has_parent"
            " check ((number = 1 and parent is null) or parent < number) not valid"
        )


def test_a_schema_nobody_knows_any_more_is_found(
    who: Principal, run: Run, saved: Checkpoint
) -> None:
    change = """definition = '{"schema_versions": [7]}'"""
    tamper("agent_sessions_workflow", change, run.workflow_id)
    try:
        assert code(verify(who, run, saved)) == "position.schema_unsupported"
    finally:
        tamper("agent_sessions_workflow", "definition = '{}'", run.workflow_id)
