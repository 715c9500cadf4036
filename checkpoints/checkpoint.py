"""Where a run can restart: sealing a position, adding one, finding it intact.

The digest covers everything but the time: payload, header, place, and which requests
it closes, because that decides whether an approval still stands.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from audit.append import Actor
from checkpoints.models import Checkpoint
from checkpoints.schemas import may_save
from checkpoints.upgrades import Content, check_content
from checkpoints.vault import payload_hash, seal_payload
from kernel.canonical import digest
from kernel.problems import Problem, declare
from kernel.secrets import refuse_secret
from kernel.strict_json import Json
from kernel.update import update_exactly_one
from sessions.models import Run
from tenants.verbs import Verb

STALE_CHECKPOINT: Final = declare(
    "stale_checkpoint", status=409, title="The run has a newer checkpoint"
)
CHECKPOINT_CORRUPTED: Final = declare(
    "checkpoint_corrupted", status=409, title="The checkpoint is not as it was saved"
)
SCHEMA_UNSUPPORTED: Final = declare(
    "schema_unsupported",
    status=409,
    title="The run's workflow does not know this checkpoint's schema",
)

DOMAIN: Final = "keyturn/checkpoint/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What an agent wants to be able to come back to.

    `parent` is the number of the head it saw, None for none; `payload` is its own and
    opaque; `header` is {"completed": [...], "pending": [...], "markers": {...}}.
    """

    parent: int | None
    schema_version: int
    payload: bytes
    header: Mapping[str, Json]


def check_form(position: Position, *, pointer: str = "") -> None:
    """Raises `payload_too_large` (413) or `header_invalid` (422). Needs no database.

    `pointer` leads to the position in the body.
    """
    check_content(Content(position.payload, position.header), pointer=pointer)


def check_header(position: Position, *, pointer: str = "") -> None:
    """Raises `secret_in_arguments` (422). Inside the tenant's scope."""
    refuse_secret(dict(position.header), f"{pointer}/header")


def add_checkpoint(
    verb: Verb,
    run: Run,
    position: Position,
    *,
    actor: Actor,
    closes: Sequence[UUID] = (),
) -> Checkpoint:
    """Make `position` the head of a locked run, whatever the run's state.

    Raises `stale_checkpoint` (409) unless its parent is the head, and
    `schema_unsupported` (409), unless it closes requests: their outcomes are true
    whatever the workflow still reads.
    """
    _check_place(run, position)
    if not closes and not may_save(run, position.schema_version):
        raise SCHEMA_UNSUPPORTED(None, "/schema_version")
    checkpoint = _sealed(run, position, closes)
    seal_payload(checkpoint, session_id=run.session_id)
    checkpoint.save(force_insert=True)
    _move_head(run, checkpoint)
    _record(verb, checkpoint, actor)
    return checkpoint


def close_step(
    verb: Verb,
    run: Run,
    *,
    closes: Sequence[UUID],
    markers: Mapping[str, Json],
    actor: Actor,
) -> Checkpoint:
    """End the step of these requests: the head again, and what came of it.

    The payload is the agent's own and stays; `markers` join those of its header.
    Raises `checkpoint_corrupted` (409): a damaged payload is never sealed anew.
    """
    head = intact_head(run)
    known = head.header.get("markers", {})
    position = Position(
        parent=head.number,
        schema_version=head.schema_version,
        payload=head.payload,
        header={**head.header, "markers": {**known, **markers}},
    )
    return add_checkpoint(verb, run, position, actor=actor, closes=closes)


def intact_head(run: Run) -> Checkpoint:
    """The head with its payload. Raises `checkpoint_corrupted` (409)."""
    numbered = {"number": run.head_number or 0}
    head = Checkpoint.objects.filter(
        tenant_id=run.tenant_id, run_id=run.id, **numbered
    ).first()
    if head is None or not is_intact(head, hash_of(run, head)):
        raise CHECKPOINT_CORRUPTED()
    if bytes(head.digest) != bytes(run.head_digest or b""):
        raise CHECKPOINT_CORRUPTED("It is not the one that the run ended with.")
    return head


def hash_of(run: Run, checkpoint: Checkpoint) -> bytes:
    """The SHA-256 of what was saved in a checkpoint of the run."""
    return payload_hash(checkpoint, session_id=run.session_id)


def is_intact(checkpoint: Checkpoint, payload_hash: bytes) -> bool:
    """Whether the stored digest is that of what is stored."""
    try:
        return bytes(checkpoint.digest) == seal(checkpoint, payload_hash)
    except Problem:  # the header is no longer something that could have been sealed
        return False


def seal(checkpoint: Checkpoint, payload_hash: bytes) -> bytes:
    """The digest, 32 bytes, of a checkpoint with a payload of that SHA-256."""
    statement = {
        "tenant": str(checkpoint.tenant_id),
        "run": str(checkpoint.run_id),
        "number": checkpoint.number,
        "parent": checkpoint.parent,
        "schema_version": checkpoint.schema_version,
        "header": checkpoint.header,
        "payload": payload_hash.hex(),
        "closes": [str(request) for request in checkpoint.closes],
    }
    return digest(DOMAIN, statement)


def _check_place(run: Run, position: Position) -> None:
    if position.parent != run.head_number:
        detail = (
            f"Its head is {run.head_number}, not {position.parent}. To go on from"
            " another checkpoint than the head, fork the run there."
        )
        raise STALE_CHECKPOINT(detail, "/parent", head=run.head_number)


def _sealed(run: Run, position: Position, closes: Sequence[UUID]) -> Checkpoint:
    checkpoint = Checkpoint(
        tenant_id=run.tenant_id,
        run_id=run.id,
        number=(run.head_number or 0) + 1,
        parent=position.parent,
        schema_version=position.schema_version,
        header=dict(position.header),
        fence=run.fence,
        closes=list(closes),
    )
    checkpoint.payload = position.payload
    checkpoint.digest = seal(checkpoint, hashlib.sha256(position.payload).digest())
    return checkpoint


def _move_head(run: Run, checkpoint: Checkpoint) -> None:
    rows = Run.objects.filter(
        tenant_id=run.tenant_id, id=run.id, head_number=checkpoint.parent
    )
    update_exactly_one(
        rows, head_number=checkpoint.number, head_digest=checkpoint.digest
    )
    run.head_number, run.head_digest = checkpoint.number, checkpoint.digest


def _record(verb: Verb, checkpoint: Checkpoint, actor: Actor) -> None:
    verb.record(
        "checkpoint.saved",
        actor=actor,
        subject=("checkpoint", checkpoint.id),
        data={
            "run": str(checkpoint.run_id),
            "number": checkpoint.number,
            "digest": checkpoint.digest.hex(),
            "closes": [str(request) for request in checkpoint.closes],
        },
    )
    verb.changed(checkpoint.run_id)
