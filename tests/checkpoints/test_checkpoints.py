"""A checkpoint is exactly what was saved, after the one that its writer saw, or refused."""

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from checkpoints.checkpoint import (
    Position,
    add_checkpoint,
    close_step,
    seal,
)
from checkpoints.models import Checkpoint
from checkpoints.services import read_checkpoint, save_checkpoint
from checkpoints.upgrades import MAX_PAYLOAD
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from sessions.models import Run, Session
from sessions.runs import lock_run
from sessions.services import complete_run, define_workflow, start_run
from tenants.principal import Principal
from tenants.verbs import perform
from tests.chain import kinds_of
from tests.checkpoints.tampering import tamper
from tests.concurrency import together
from tests.factories import House
from tests.refusals import refused
from tests.sessions.test_runs import move, now_of

HEADER = {
    "completed": ["read", "compare"],
    "pending": ["send"],
    "markers": {"validation": {"passed": True, "at": "10:41"}},
}


def at(parent: int | None, payload: bytes = b"{}", **change: Any) -> Position:
    fields = {"parent": parent, "schema_version": 1, "payload": payload}
    return Position(**{**fields, "header": HEADER, **change})


def save(who: Principal, run: Run, position: Position, fence: int = 1) -> Checkpoint:
    return save_checkpoint(who=who, run_id=run.id, fence=fence, position=position)


def numbers(run: Run) -> list[int]:
    with tenant_transaction(run.tenant_id):
        rows = Checkpoint.objects.filter(run_id=run.id).order_by("number")
        return list(rows.values_list("number", flat=True))


@pytest.mark.parametrize(
    "payload",
    [b"", b'{"a": 1}', bytes(range(256)), "é\u0000\u202e".encode(), b"\xff\x00" * 4000],
)
def test_a_payload_comes_back_byte_for_byte(
    who: Principal, run: Run, payload: bytes
) -> None:
    saved = save(who, run, at(None, payload))
    read = read_checkpoint(who=who, run_id=run.id)

    assert bytes(read.payload) == payload
    assert (read.number, read.parent, read.fence) == (1, None, 1)
    assert read.header == HEADER
    assert bytes(read.digest) == bytes(saved.digest)


def test_the_head_is_the_newest_and_older_ones_stay(who: Principal, run: Run) -> None:
    save(who, run, at(None, b"1"))
    second = save(who, run, at(1, b"2"))

    assert bytes(read_checkpoint(who=who, run_id=run.id).payload) == b"2"
    assert bytes(read_checkpoint(who=who, run_id=run.id, number=1).payload) == b"1"
    stored = now_of(run)
    assert stored.head_number == 2
    assert stored.head_digest is not None
    assert bytes(stored.head_digest) == bytes(second.digest)
    assert kinds_of(who.tenant_id, second.id) == ["checkpoint.saved"]


@pytest.mark.parametrize("parent", [None, 2, 7])
def test_a_writer_who_has_not_seen_the_head_is_refused(
    who: Principal, run: Run, parent: int | None
) -> None:
    save(who, run, at(None))
    with refused("stale_checkpoint", status=409):
        save(who, run, at(parent))
    assert numbers(run) == [1]


def test_of_eight_writers_after_one_head_one_wins(who: Principal, run: Run) -> None:
    save(who, run, at(None))
    acts = [partial(save, who, run, at(1, b"%d" % each)) for each in range(8)]
    outcomes = together(*acts)
    won = [each for each in outcomes if isinstance(each, Checkpoint)]
    lost = [each.code for each in outcomes if each not in won]  # type: ignore[union-attr]

    assert (len(won), lost) == (1, ["stale_checkpoint"] * 7)
    assert bytes(read_checkpoint(who=who, run_id=run.id).payload) == bytes(
        won[0].payload
    )


def test_a_stale_writer_saves_nothing(who: Principal, run: Run) -> None:
    with refused("stale_writer", status=409):
        save(who, run, at(None), fence=2)
    assert numbers(run) == []


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (["paused"], "pause_open"),
        (["paused", "resuming"], "pause_open"),
        (["needs_attention"], "wrong_state"),
        (["completed"], "run_ended"),
    ],
)
def test_nobody_saves_behind_the_back_of_an_approval(
    who: Principal, run: Run, states: list[str], code: str
) -> None:
    move(who, run, *states)
    with refused(code, status=409):
        save(who, run, at(None))
    assert numbers(run) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"payload": bytes(MAX_PAYLOAD + 1)}, "payload_too_large"),
        ({"header": {"done": []}}, "header_invalid"),
        ({"header": {"completed": [1]}}, "header_invalid"),
        ({"header": {"markers": []}}, "header_invalid"),
    ],
)
def test_another_form_is_refused(
    who: Principal, run: Run, change: dict[str, Any], code: str
) -> None:
    with refused(code):
        save(who, run, at(None, **change))


def test_the_largest_payload_is_kept_whole(who: Principal, run: Run) -> None:
    payload = b"\xa5" * MAX_PAYLOAD
    save(who, run, at(None, payload))
    read = read_checkpoint(who=who, run_id=run.id)
    assert hashlib.sha256(read.payload).digest() == hashlib.sha256(payload).digest()


def test_a_schema_that_the_workflow_does_not_know_is_not_saved(
    house: House, who: Principal, session: Session
) -> None:
    define_workflow(
        tenant_id=house.id,
        by=house.alice.id,
        kind="invoice",
        definition={"schema_versions": [7, 8]},
    )
    run, _ = start_run(who=who, session_id=session.id, workflow="invoice")
    with refused("schema_unsupported", status=409):
        save(who, run, at(None, schema_version=9))
    save(who, run, at(None, schema_version=8))


def test_each_part_of_a_checkpoint_is_under_its_digest() -> None:
    def checkpoint(**change: Any) -> Checkpoint:
        fields: dict[str, Any] = {
            "tenant_id": TENANT,
            "run_id": RUN,
            "number": 2,
            "parent": 1,
            "schema_version": 1,
            "header": HEADER,
            "closes": [],
        }
        return Checkpoint(**{**fields, **change})

    payload = hashlib.sha256(b"{}").digest()
    one = seal(checkpoint(), payload)
    others = [
        seal(checkpoint(tenant_id=RUN), payload),
        seal(checkpoint(run_id=TENANT), payload),
        seal(checkpoint(number=3), payload),
        seal(checkpoint(parent=None), payload),
        seal(checkpoint(schema_version=2), payload),
        seal(checkpoint(header={**HEADER, "pending": []}), payload),
        seal(checkpoint(closes=[RUN]), payload),
        seal(checkpoint(), hashlib.sha256(b"{ }").digest()),
    ]
    assert len({one, *others}) == 9
    assert one == seal(checkpoint(header=dict(reversed(HEADER.items()))), payload)


TENANT, RUN = new_id(), new_id()

TAMPERINGS = {
    "payload": "payload = payload || 'x'",
    "header": "header = jsonb_set(header, '{completed}', '[\"send\"]')",
    "header beyond JSON": 'header = \'{"markers": {"n": 1e400}}\'',
    "digest": "digest = sha256('x')",
    "schema": "schema_version = 2",
    "closes": "closes = array[run_id]",
    "parent": "number = 2, parent = 1",
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_a_checkpoint_changed_in_the_database_is_found_and_parks_its_run(
    house: House, who: Principal, run: Run, what: str
) -> None:
    saved = save(who, run, at(None))
    tamper("checkpoints_checkpoint", TAMPERINGS[what], saved.id)
    if what == "parent":
        tamper("agent_sessions_run", "head_number = 2", run.id)
    with refused("checkpoint_corrupted", status=409):
        read_checkpoint(who=who, run_id=run.id)
    parked = now_of(run)

    assert parked.state == "needs_attention"
    assert "checkpoint_corrupted" in parked.reason
    assert "checkpoint.refused" in kinds_of(who.tenant_id, saved.id)
    with refused("checkpoint_corrupted"):
        read_checkpoint(who=who, run_id=run.id)


def test_a_forged_head_is_found_though_its_digest_is_right(
    who: Principal, run: Run
) -> None:
    """Whoever rewrites a checkpoint and its digest has to rewrite the run as well."""
    saved = save(who, run, at(None))
    forged = Checkpoint(
        tenant_id=run.tenant_id,
        run_id=run.id,
        number=1,
        schema_version=1,
        header=HEADER,
        closes=[],
    )
    digest = seal(forged, hashlib.sha256(b"forged").digest()).hex()
    change = f"payload = 'forged', digest = decode('{digest}', 'hex')"
    tamper("checkpoints_checkpoint", change, saved.id)
    with refused("checkpoint_corrupted", status=409):
        read_checkpoint(who=who, run_id=run.id)


def test_one_bad_run_leaves_the_others_going(
    who: Principal, session: Session, run: Run
) -> None:
    other, _ = start_run(who=who, session_id=session.id)
    bad = save(who, run, at(None))
    save(who, other, at(None))
    tamper("checkpoints_checkpoint", TAMPERINGS["payload"], bad.id)
    with refused("checkpoint_corrupted"):
        read_checkpoint(who=who, run_id=run.id)
    assert read_checkpoint(who=who, run_id=other.id).number == 1
    assert now_of(other).state == "running"


def test_a_run_that_ended_stays_ended_when_its_checkpoint_rots(
    who: Principal, run: Run
) -> None:
    saved = save(who, run, at(None))
    complete_run(who=who, run_id=run.id, fence=1)
    tamper("checkpoints_checkpoint", TAMPERINGS["payload"], saved.id)
    with refused("checkpoint_corrupted"):
        read_checkpoint(who=who, run_id=run.id)
    assert now_of(run).state == "completed"


def test_what_is_not_there_is_not_found(who: Principal, run: Run) -> None:
    with refused("not_found", status=404):
        read_checkpoint(who=who, run_id=run.id)
    save(who, run, at(None))
    with refused("not_found", status=404):
        read_checkpoint(who=who, run_id=run.id, number=2)


STRANGE: dict[str, Callable[[Principal, Run], Any]] = {
    "save": lambda who, run: save(who, run, at(1)),
    "read": lambda who, run: read_checkpoint(who=who, run_id=run.id),
}


@pytest.mark.parametrize("act", STRANGE)
def test_a_stranger_neither_reads_nor_saves(
    who: Principal, run: Run, strangers: dict[str, Principal], act: str
) -> None:
    save(who, run, at(None))
    for stranger in strangers.values():
        with refused("not_found", status=404):
            STRANGE[act](stranger, run)
    assert numbers(run) == [1]


def test_a_closing_checkpoint_repeats_the_payload_and_marks_what_came_of_it(
    who: Principal, run: Run
) -> None:
    save(who, run, at(None, b"\x00opaque"))
    move(who, run, "paused")
    request = new_id()
    marker = {str(request): {"state": "confirmed", "external_id": "CR-771"}}
    closed = perform(
        who.tenant_id,
        lambda verb: close_step(
            verb, lock_run(run.id), closes=[request], markers=marker, actor=who.actor
        ),
    )
    read = read_checkpoint(who=who, run_id=run.id)

    assert (read.number, read.parent, read.closes) == (2, 1, [request])
    assert bytes(read.payload) == b"\x00opaque"
    assert read.header == {**HEADER, "markers": HEADER["markers"] | marker}  # type: ignore[operator]
    assert bytes(read.digest) == bytes(closed.digest)


def test_an_outcome_is_recorded_after_the_workflow_forgot_the_heads_schema(
    house: House, who: Principal, session: Session
) -> None:
    """The head's payload is only kept; what may be added anew is another question."""
    about: Any = {"tenant_id": house.id, "by": house.alice.id, "kind": "moves_on"}
    define_workflow(**about, definition={"schema_versions": [1]})
    run, _ = start_run(who=who, session_id=session.id, workflow="moves_on")
    define_workflow(**about, definition={"schema_versions": [1, 2]})
    save(who, run, at(None, schema_version=2))
    define_workflow(**about, definition={"schema_versions": [3]})

    closed = perform(
        who.tenant_id,
        lambda verb: close_step(
            verb, lock_run(run.id), closes=[new_id()], markers={}, actor=who.actor
        ),
    )
    assert (closed.number, closed.schema_version) == (2, 2)
    with refused("schema_unsupported", status=409):
        save(who, run, at(2, schema_version=2))


def test_a_damaged_payload_is_never_sealed_anew(who: Principal, run: Run) -> None:
    saved = save(who, run, at(None))
    tamper("checkpoints_checkpoint", TAMPERINGS["payload"], saved.id)
    with refused("checkpoint_corrupted", status=409):
        perform(
            who.tenant_id,
            lambda verb: close_step(
                verb, lock_run(run.id), closes=[new_id()], markers={}, actor=who.actor
            ),
        )
    assert numbers(run) == [1]


def test_a_checkpoint_belongs_to_its_verb_and_goes_with_it(
    who: Principal, run: Run
) -> None:
    def work(verb: Any) -> None:
        add_checkpoint(verb, lock_run(run.id), at(None), actor=who.actor)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        perform(who.tenant_id, work)
    assert numbers(run) == []
    assert now_of(run).head_number is None
