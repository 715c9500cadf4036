"""Two of the four checks: is the run where it was, and is everything before settled?"""

from collections.abc import Collection, Iterator
from typing import Final
from uuid import UUID

from checkpoints.checkpoint import is_intact
from checkpoints.models import Checkpoint, Effect
from checkpoints.queries import positions_since
from checkpoints.schemas import may_restore
from kernel.outcome import Outcome, Passed, Refused
from sessions.models import Run

SETTLED: Final = frozenset(
    {Effect.State.CONFIRMED, Effect.State.FAILED, Effect.State.ABSENT}
)
IN_FLIGHT: Final = frozenset({Effect.State.INTENDED, Effect.State.STARTED})


def verify_position(
    run: Run, *, number: int, digest: bytes, closers: Collection[UUID]
) -> Outcome:
    """Whether a locked run is still at checkpoint `number`, as it was approved.

    Later checkpoints are allowed if each closes requests, and only ones of `closers`
    (those of the same pause). Every refusal is final: `stop`.
    """
    path = _path(run, number)
    detail = {"checkpoint": number, "head": run.head_number}
    for code, reason in _flaws(run, path, number, digest, frozenset(closers)):
        return Refused(f"position.{code}", reason, "stop", detail)
    schemas = sorted({checkpoint.schema_version for checkpoint, _ in path})
    return Passed({**detail, "schemas": schemas, "digests_checked": len(path)})


def effects_settled(run: Run, *, excluding: Collection[UUID] = ()) -> Outcome:
    """Whether every effect of a locked run has a known end.

    Refuses with `wait`: what is in flight ends, and what is unknown is found out, by
    reconciling or by a person; either way without harm to what waits.
    """
    effects = Effect.objects.filter(tenant_id=run.tenant_id, run_id=run.id)
    open_ones = effects.exclude(state__in=SETTLED).exclude(id__in=excluding)
    states = {str(id): state for id, state in open_ones.values_list("id", "state")}
    if not states:
        return Passed({"settled": effects.count()})
    if IN_FLIGHT.isdisjoint(states.values()):
        reason = "What came of an earlier action is not known yet."
        return Refused("effects.unknown", reason, "wait", {"effects": states})
    reason = "An earlier action is still under way."
    return Refused("effects.in_flight", reason, "wait", {"effects": states})


def _path(run: Run, number: int) -> list[tuple[Checkpoint, bytes]]:
    """From the head back to `number`, as far as the parents lead there."""
    path, rows, at = [], positions_since(run, number), run.head_number
    while at is not None and at in rows:
        path.append(rows.pop(at))
        at = path[-1][0].parent
    return path


def _flaws(
    run: Run,
    path: list[tuple[Checkpoint, bytes]],
    number: int,
    digest: bytes,
    closers: frozenset[UUID],
) -> Iterator[tuple[str, str]]:
    if not path or path[-1][0].number != number:
        yield "head_moved", "The run went on from another checkpoint."
        return
    if bytes(path[0][0].digest) != bytes(run.head_digest or b""):
        yield "checkpoint_corrupted", "The newest checkpoint is not the one saved last."
    if bytes(path[-1][0].digest) != digest:
        yield "checkpoint_corrupted", "The checkpoint is not the one that was approved."
    for checkpoint, payload_hash in path:
        if not is_intact(checkpoint, payload_hash):
            yield "checkpoint_corrupted", f"Checkpoint {checkpoint.number} was changed."
    for checkpoint, _ in path[:-1]:
        if not checkpoint.closes or not closers.issuperset(checkpoint.closes):
            yield "head_moved", "The run went on by itself after it asked."
    for checkpoint, _ in path:
        if not may_restore(run, checkpoint.schema_version):
            yield "schema_unsupported", _unknown(checkpoint)


def _unknown(checkpoint: Checkpoint) -> str:
    return (
        f"Checkpoint {checkpoint.number} has schema {checkpoint.schema_version}, which"
        " the workflow does not know and no upgrade reads. Install the release that"
        " saved it, or define the workflow with that version."
    )
