"""The effect token: what an agent was handed, signed, so that its tool can check it.

Compact: base64url(JSON) "." base64url(Ed25519 signature over domain ‖ NUL ‖ JSON).
A tool that checks it refuses what another tenant or environment was allowed, other
arguments, an older fence and a late call.
"""

import base64
from typing import Final

from approvals.services.consume import Started
from audit.keys import signing_key
from kernel.canonical import canonical_bytes

DOMAIN: Final = b"keyturn/effect-token/v2\0"


def effect_token(started: Started) -> str:
    """The token of one started effect."""
    asked = started.envelope
    body = canonical_bytes(
        {
            "tenant": asked.record["tenant"],
            "agent": asked.requester["agent"],
            "environment": asked.requester["environment"],
            "request": asked.record["request"],
            "effect": str(started.effect.id),
            "key": bytes(started.effect.key).hex(),
            "tool": started.action.tool,
            "target": started.action.target,
            "arguments": started.action.arguments,
            "attempt": started.attempt.number,
            "fence": started.fence,
            "not_after": started.attempt.send_before.isoformat(),
            "signed_by": signing_key().id,
        }
    )
    return f"{_text(body)}.{_text(signing_key().sign(DOMAIN + body))}"


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
