"""Canonical bytes and the digests over them.

Two values have the same digest exactly when they are the same JSON (RFC 8785): the
order of keys and the spelling of numbers do not count, everything else does. Values
are compared by digest, never as Python objects, because there `True == 1`.
"""

import hashlib
from uuid import UUID

import rfc8785

from kernel.strict_json import Json, canonical_value

APPROVAL_DOMAIN = "keyturn/approval/v1"
DEFINITION_DOMAIN = "keyturn/definition/v1"
ACTION_DOMAIN = "keyturn/action/v1"
EFFECT_DOMAIN = "keyturn/effect/v1"


def canonical_bytes(value: object) -> bytes:
    """The JCS form of a strict JSON value. Raises `Problem` if it is not one."""
    return rfc8785.dumps(canonical_value(value))


def digest(domain: str, value: object) -> bytes:
    """SHA-256(domain ‖ NUL ‖ JCS), 32 bytes. The domain keeps one kind of statement
    from being taken for another. Raises `Problem` if the value is not strict JSON."""
    return hashlib.sha256(domain.encode() + b"\0" + canonical_bytes(value)).digest()


def approval_digest(envelope: Json) -> bytes:
    """What an approval covers: every byte of one revision's envelope."""
    return digest(APPROVAL_DOMAIN, envelope)


def definition_digest(definition: Json) -> bytes:
    """Identifies one revision of something defined: a tool, a workflow, a policy."""
    return digest(DEFINITION_DOMAIN, definition)


def effect_key(
    *, tenant: UUID, request: UUID, tool: str, target: Json, arguments: Json
) -> bytes:
    """The idempotency key of an effect, 32 bytes.

    The same across attempts, re-approval and restore; different after an edit.
    """
    action = {"tool": tool, "target": target, "arguments": arguments}
    parts = (EFFECT_DOMAIN.encode(), tenant.bytes, request.bytes)
    return hashlib.sha256(b"".join(parts) + digest(ACTION_DOMAIN, action)).digest()
