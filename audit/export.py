"""A chain in a file that anyone can check: NDJSON of the stored bytes, base64.

    {"format": "keyturn/audit-export/v1", "tenant", "at", "keys": {id: public key}}
    {"seq", "body", "prev", "hash", "signature", "key_id"}          one per entry
    {"head": {"seq", "hash"}, "key_id", "signature"}

The signature of the last line says where the chain ended, so that a shortened file is
found as well. `audit/offline/verify_export.py` checks it, without Django.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import IO, Any
from uuid import UUID

from audit.chain import GENESIS, moment
from audit.keys import raw_bytes, signing_key, trusted_keys
from audit.queries import (
    Evidence,
    StoredHead,
    chain_snapshot,
    stored_evidence,
    stored_head,
)
from audit.verify import PROGRESS_EVERY, Progress
from kernel.clock import database_now

FORMAT = "keyturn/audit-export/v1"


def export_chain(
    tenant_id: UUID, out: IO[bytes], *, progress: Progress | None = None
) -> StoredHead:
    """Write the tenant's chain, as it is stored, to `out`; return its head."""
    with chain_snapshot(tenant_id):
        head = stored_head(tenant_id) or StoredHead(0, GENESIS)
        for count, line in enumerate(_lines(tenant_id, head)):
            out.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
            if progress and count % PROGRESS_EVERY == 0:
                progress(min(count, head.seq), head.seq)
    return head


def _lines(tenant_id: UUID, head: StoredHead) -> Iterator[dict[str, Any]]:
    keys = {name: _text(raw_bytes(key)) for name, key in trusted_keys().items()}
    yield {
        "format": FORMAT,
        "tenant": str(tenant_id),
        "at": moment(database_now()),
        "keys": keys,
    }
    yield from map(_entry_line, stored_evidence(tenant_id))
    yield _last_line(tenant_id, head)


def _entry_line(entry: Evidence) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "body": _text(entry.body),
        "prev": _text(entry.prev),
        "hash": _text(entry.hash),
        "signature": _text(entry.signature),
        "key_id": entry.key_id,
    }


def _last_line(tenant_id: UUID, head: StoredHead) -> dict[str, Any]:
    key = signing_key()
    place = tenant_id.bytes + head.seq.to_bytes(8, "big") + head.hash
    return {
        "head": {"seq": head.seq, "hash": _text(head.hash)},
        "key_id": key.id,
        "signature": _text(key.sign(FORMAT.encode() + b"\0" + place)),
    }


def _text(value: bytes) -> str:
    return b64encode(value).decode()
