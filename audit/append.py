"""Appending to a tenant's chain: the last thing a verb does before it commits.

    with recorded(tenant_id) as journal:
        …                                  # locks, checks, conditional updates
        journal.record(kind="request.decided", actor=…, subject=…, data={…})

The head of the chain is the one row that all verbs of a tenant share. It is locked at
the end, when there is nothing left to do but sign and commit.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from audit.chain import link, moment, preimage
from audit.keys import SigningKey, signing_key
from kernel.canonical import canonical_bytes
from kernel.ids import new_id
from kernel.scope import tenant_transaction


class Actor(NamedTuple):
    """Who did it: a kind of principal (`member`, `agent`, `policy`, `system`…) and
    which one of that kind."""

    type: str
    id: str | UUID


class Subject(NamedTuple):
    """What it was done to: a kind of thing and, where it is a row, its id."""

    type: str
    id: UUID | None


@dataclass(frozen=True, slots=True)
class Appended:
    """An entry that is on the chain as soon as the transaction commits."""

    id: UUID
    seq: int
    kind: str
    hash: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """What a verb recorded, before it has a place on the chain."""

    id: UUID
    kind: str
    actor: Actor
    subject: Subject
    data: Mapping[str, Any]


class Journal:
    """Collects a verb's entries and appends them together, in two statements."""

    def __init__(self, tenant_id: UUID) -> None:
        self.tenant_id = tenant_id
        self.entries: tuple[Appended, ...] = ()
        """In order, once flushed; empty before."""
        self._notes: list[Note] = []

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was recorded so far, in order."""
        return tuple(self._notes)

    def record(
        self,
        *,
        kind: str,
        actor: Actor,
        subject: tuple[str, UUID | None],
        data: Mapping[str, Any] | None = None,
    ) -> UUID:
        """Note that `actor` did `kind` to `subject`; returns the entry's id.

        `data` is strict JSON, already redacted, and is copied. Raises `Problem` if it
        is not strict, RuntimeError if the entries were flushed already.
        """
        if self.entries:
            raise RuntimeError("The audit entries of this transaction are appended.")
        copied = json.loads(canonical_bytes(dict(data or {})))
        note = Note(new_id(), kind, Actor(*actor), Subject(*subject), copied)
        self._notes.append(note)
        return note.id

    def flush(self) -> None:
        """Lock the head, sign, append. Nothing may follow but the commit."""
        if not self._notes or self.entries:
            return
        key = signing_key()
        with connection.cursor() as cursor:
            cursor.execute("SELECT seq, hash, at FROM audit_head(%s)", [self.tenant_id])
            last, prev, at = cursor.fetchone()
            signed = list(_signed(self, last, bytes(prev), at, key))
            cursor.execute(
                "SELECT audit_append(%s, %s::bytea[], %s::bytea[], %s::bytea[], %s)",
                [
                    self.tenant_id,
                    [each.body for each in signed],
                    [each.entry.hash for each in signed],
                    [each.signature for each in signed],
                    key.id,
                ],
            )
        self.entries = tuple(each.entry for each in signed)


@contextmanager
def recorded(tenant_id: UUID) -> Iterator[Journal]:
    """A tenant's transaction whose audit entries are appended last.

    Entries and changes commit together or not at all. Never nested: a verb that calls
    another passes its journal on.
    """
    with tenant_transaction(tenant_id):
        journal = Journal(tenant_id)
        yield journal
        journal.flush()


@dataclass(frozen=True, slots=True)
class _Signed:
    entry: Appended
    body: bytes
    signature: bytes


def _signed(
    journal: Journal, last: int, prev: bytes, at: datetime, key: SigningKey
) -> Iterator[_Signed]:
    """Place the notes after entry `last`, whose hash is `prev`."""
    for seq, note in enumerate(journal._notes, start=last + 1):
        body = canonical_bytes(_body(journal.tenant_id, seq, at, note))
        statement = preimage(tenant_id=journal.tenant_id, seq=seq, prev=prev, body=body)
        prev = link(statement)
        entry = Appended(id=note.id, seq=seq, kind=note.kind, hash=prev)
        yield _Signed(entry=entry, body=body, signature=key.sign(statement))


def _body(tenant_id: UUID, seq: int, at: datetime, note: Note) -> dict[str, Any]:
    subject = note.subject
    return {
        "v": 1,
        "id": str(note.id),
        "tenant": str(tenant_id),
        "seq": seq,
        "at": moment(at),
        "kind": note.kind,
        "actor": {"type": note.actor.type, "id": str(note.actor.id)},
        "subject": {
            "type": subject.type,
            "id": str(subject.id) if subject.id else None,
        },
        "data": dict(note.data),
    }
