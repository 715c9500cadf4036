"""The audit log for other machines: a line an entry, oldest first, from a cursor on."""

import json
from base64 import b64encode
from typing import IO, Any
from uuid import UUID

from audit.queries import Evidence, chain_snapshot, stored_after
from kernel.strict_json import parse


def write_stream(tenant_id: UUID, after: int, most: int, out: IO[bytes]) -> None:
    """Write at most `most` entries after number `after`, as they were signed."""
    with chain_snapshot(tenant_id):
        for entry in stored_after(tenant_id, after, most):
            out.write(json.dumps(_line(entry), separators=(",", ":")).encode() + b"\n")


def _line(entry: Evidence) -> dict[str, Any]:
    """What was signed, read from its bytes; RFC 8785 makes the same bytes of it again."""
    body = parse(entry.body)
    assert isinstance(body, dict)
    return {
        **body,
        "prev": _text(entry.prev),
        "hash": _text(entry.hash),
        "signature": _text(entry.signature),
        "key_id": entry.key_id,
    }


def _text(value: bytes) -> str:
    return b64encode(value).decode()
