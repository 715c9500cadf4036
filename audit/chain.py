"""The arithmetic of the chain: what is hashed, what is signed, in which order.

    hash(n) = SHA-256(preimage(n))          signature(n) = Ed25519(preimage(n))
    preimage(n) = "keyturn/audit/v1" ‖ NUL ‖ tenant ‖ n as 8 bytes ‖ hash(n-1)
                  ‖ SHA-256(body)

The signature covers the place as well as the content, so entries can be neither
changed nor moved nor left out, even by one who can rewrite every row and every hash.
The same lines are written once more in SQL (`audit_append`) and in
`audit/offline/verify_export.py`: three readers that must agree.
"""

import hashlib
from datetime import UTC, datetime
from uuid import UUID

DOMAIN = b"keyturn/audit/v1\0"
GENESIS = bytes(32)
"""What the first entry of a chain follows."""


def preimage(*, tenant_id: UUID, seq: int, prev: bytes, body: bytes) -> bytes:
    """The bytes that are hashed and signed for entry `seq`, which follows `prev`."""
    place = tenant_id.bytes + seq.to_bytes(8, "big") + prev
    return DOMAIN + place + hashlib.sha256(body).digest()


def link(statement: bytes) -> bytes:
    """The hash of a preimage: 32 bytes, the `prev` of the next entry."""
    return hashlib.sha256(statement).digest()


def moment(at: datetime) -> str:
    """A time as bodies and anchors write it: RFC 3339, UTC, microseconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
