"""Sealing the payloads of checkpoints under their sessions' keys.

The digests of checkpoints stay over what was saved, so whoever changes a sealed payload
is found in the same way as before.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from uuid import UUID

from django.db.models import QuerySet

from checkpoints.models import Checkpoint
from kernel.problems import Problem
from kernel.sealing import Unreadable, seal, unseal
from sessions.vault import session_key
from tenants.vault import DATA_ERASED


def seal_payload(checkpoint: Checkpoint, *, session_id: UUID) -> None:
    """Make the checkpoint's `payload` what is `stored` of it."""
    checkpoint.stored = checkpoint.payload
    checkpoint.is_sealed = bool(checkpoint.payload)  # nothing has nothing to hide
    if checkpoint.is_sealed:
        key = session_key(checkpoint.tenant_id, session_id)
        checkpoint.stored = seal(key, checkpoint.payload, bound=_place(checkpoint))


def open_payload(checkpoint: Checkpoint, *, session_id: UUID) -> bytes:
    """What was saved, in `payload` from now on as well. Raises `Unreadable`, and
    `data_erased` (410) once the session's key was destroyed."""
    return _opened(checkpoint, partial(session_key, checkpoint.tenant_id, session_id))


def payload_hash(checkpoint: Checkpoint, *, session_id: UUID) -> bytes:
    """The SHA-256 of what was saved; empty, if it was changed or nobody can open it."""
    return _hashed(checkpoint, partial(session_key, checkpoint.tenant_id, session_id))


def payload_hashes(
    checkpoints: QuerySet[Checkpoint], *, tenant_id: UUID, session_id: UUID
) -> Iterator[tuple[Checkpoint, bytes]]:
    """Checkpoints of one session, each with the hash and without the payload.

    No more than one payload at a time is in memory.
    """
    key = cache(partial(session_key, tenant_id, session_id))
    for checkpoint in checkpoints.iterator(chunk_size=1):
        digest = _hashed(checkpoint, key)
        checkpoint._payload = None
        del checkpoint.stored
        yield checkpoint, digest


def _hashed(checkpoint: Checkpoint, key: Callable[[], bytes]) -> bytes:
    """A digest that fits nothing refuses what waits, and lets outcomes be recorded."""
    try:
        return hashlib.sha256(_opened(checkpoint, key)).digest()
    except Unreadable:
        return b""
    except Problem as problem:
        if problem.code != DATA_ERASED.code:
            raise
        return b""


def _opened(checkpoint: Checkpoint, key: Callable[[], bytes]) -> bytes:
    if checkpoint.is_sealed:
        stored = bytes(checkpoint.stored)
        checkpoint.payload = unseal(key(), stored, bound=_place(checkpoint))
    return checkpoint.payload


def _place(checkpoint: Checkpoint) -> bytes:
    return b"keyturn/payload/v1\0" + checkpoint.tenant_id.bytes + checkpoint.id.bytes
