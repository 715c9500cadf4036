"""What the chain's signatures prove about single things that happened."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.db.models import Q

from audit.chain import preimage
from audit.keys import is_signed, raw_bytes, trusted_keys
from audit.models import Entry
from kernel.strict_json import parse

EVERY: Final = Q()
REMEMBERED: Final = 4_096  # answers that a process remembers, of 300 bytes each


@dataclass(frozen=True, slots=True)
class Signed:
    """What a genuine entry says, read from its signed bytes."""

    kind: str
    subject: UUID
    by: str  # whose act it was: a kind of principal
    member: UUID | None  # which one, where it was a member's
    data: dict[str, Any]
    at: datetime


def signed_entries(
    tenant_id: UUID,
    *,
    kinds: Iterable[str],
    subjects: Iterable[UUID],
    among: Q = EVERY,
) -> list[Signed]:
    """The entries of these kinds about these things, in the order of the chain.

    One whose signature does not hold is left out: what it says is proof of nothing.
    `among` looks at the queryable copy, which whoever reaches the database can change:
    only for who takes an entry that is not found for a refusal.
    """
    rows = Entry.objects.filter(
        among, tenant_id=tenant_id, kind__in=list(kinds), subject_id__in=list(subjects)
    )
    keys = trusted_keys()
    read = (_read(row) for row in rows.order_by("seq") if is_genuine(row, keys))
    return [signed for signed in read if signed is not None]


def latest_entries(tenant_id: UUID, *, kinds: Iterable[str]) -> list[Signed | None]:
    """Of each thing that entries of these kinds are about, the last of them.

    None for one whose signature does not hold: what came last is not known then.
    """
    rows = Entry.objects.filter(tenant_id=tenant_id, kind__in=list(kinds))
    last = rows.order_by("subject_id", "-seq").distinct("subject_id")
    keys = trusted_keys()
    return [_read(row) if is_genuine(row, keys) else None for row in last]


def signed_data(
    tenant_id: UUID, *, kind: str, subjects: Iterable[UUID]
) -> dict[UUID, dict[str, Any]]:
    """By subject, the `data` of its entry of this kind, unless it stands twice."""
    found: dict[UUID, list[dict[str, Any]]] = {}
    for one in signed_entries(tenant_id, kinds=[kind], subjects=subjects):
        found.setdefault(one.subject, []).append(one.data)
    return {subject: each[0] for subject, each in found.items() if len(each) == 1}


def _read(row: Entry) -> Signed | None:
    """The signed bytes, if the columns that found the row say the same."""
    body = parse(bytes(row.body))
    assert isinstance(body, dict)
    said = (body["kind"], body["subject"]["id"])
    if row.subject_id is None or said != (row.kind, str(row.subject_id)):
        return None
    return Signed(
        row.kind,
        row.subject_id,
        body["actor"]["type"],
        _member(body["actor"]),
        body["data"],
        datetime.fromisoformat(body["at"]),
    )


def _member(actor: dict[str, str]) -> UUID | None:
    return UUID(actor["id"]) if actor["type"] == "member" else None


def is_genuine(row: Entry, keys: Mapping[str, Ed25519PublicKey]) -> bool:
    """Whether one of `keys` signed this body in this place of this chain."""
    public = keys.get(row.key_id)
    statement = preimage(
        tenant_id=row.tenant_id, seq=row.seq, prev=bytes(row.prev), body=bytes(row.body)
    )
    return public is not None and _was_signed(
        raw_bytes(public), bytes(row.signature), statement
    )


@lru_cache(maxsize=REMEMBERED)
def _was_signed(public: bytes, signature: bytes, statement: bytes) -> bool:
    """Asked once in a process: of the same bytes under the same key it stays as true."""
    return is_signed(Ed25519PublicKey.from_public_bytes(public), signature, statement)
