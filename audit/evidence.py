"""What the chain's signatures prove about single things that happened."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.chain import preimage
from audit.keys import is_signed, trusted_keys
from audit.models import Entry
from kernel.strict_json import parse


def signed_data(
    tenant_id: UUID, *, kind: str, subjects: Iterable[UUID]
) -> dict[UUID, dict[str, Any]]:
    """By subject, the `data` of its entry of this kind, read from the signed bytes.

    An entry whose signature does not hold, or that stands twice, is left out: what
    it says is proof of nothing.
    """
    rows = Entry.objects.filter(
        tenant_id=tenant_id, kind=kind, subject_id__in=list(subjects)
    )
    keys = trusted_keys()
    found: dict[UUID, list[dict[str, Any]]] = {}
    for row in rows:
        if is_genuine(row, keys):
            body = parse(bytes(row.body))
            assert isinstance(body, dict)
            subject = row.subject_id
            if subject and (body["kind"], body["subject"]["id"]) == (
                kind,
                str(subject),
            ):
                found.setdefault(subject, []).append(body["data"])
    return {subject: each[0] for subject, each in found.items() if len(each) == 1}


def is_genuine(row: Entry, keys: Mapping[str, Ed25519PublicKey]) -> bool:
    """Whether one of `keys` signed this body in this place of this chain."""
    public = keys.get(row.key_id)
    statement = preimage(
        tenant_id=row.tenant_id, seq=row.seq, prev=bytes(row.prev), body=bytes(row.body)
    )
    return public is not None and is_signed(public, bytes(row.signature), statement)
