"""What is signed or sealed, how, and when it is tried again: Standard Webhooks.

Knows no rows of webhooks; secrets are opened inside the tenant's scope.
"""

import base64
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import uniform
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from standardwebhooks import Webhook as Signer

from kernel.sealing import seal, unseal
from tenants.vault import purpose_key

SECRET_BYTES: Final = 32
SIGNING: Final = "webhook-secrets"
ADDRESS: Final = "chat-addresses"
OVERLAP: Final = timedelta(hours=24)
"""For how long the former secret signs too after a rotation."""

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
PAUSES: Final = (5, 30, 2 * MINUTE, 10 * MINUTE, *(HOUR * h for h in (1, 3, 6, 12, 24)))
"""Seconds after each failed attempt; after the last one the message is dead."""
LONGEST_REST: Final = timedelta(seconds=MINUTE)
SHOWN: Final = 4  # characters of a secret address's end
ENOUGH: Final = 20  # characters behind its host, for showing any
_LONGEST_WISH: Final = HOUR


def new_secret() -> str:
    """A secret as its receiver keeps it: `whsec_` and 32 random bytes in base64."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def seal_secret(
    tenant_id: UUID, webhook_id: UUID, secret: str, purpose: str = SIGNING
) -> bytes:
    """The secret for this webhook alone, under a key that the database lacks."""
    key = purpose_key(tenant_id, purpose)
    return seal(key, secret.encode(), bound=webhook_id.bytes)


def open_secret(
    tenant_id: UUID, webhook_id: UUID, sealed: bytes, purpose: str = SIGNING
) -> str:
    """What was sealed. Raises `Unreadable`, or `data_erased` (410)."""
    key = purpose_key(tenant_id, purpose)
    return unseal(key, sealed, bound=webhook_id.bytes).decode()


def signed_headers(
    event: UUID, body: str, keys: Sequence[str], now: datetime
) -> Mapping[str, str]:
    """The headers of one attempt, with a signature for each secret that is in use."""
    at = now.astimezone(UTC).replace(microsecond=0)
    signatures = [Signer(key).sign(str(event), at, body) for key in keys]
    return {
        "Content-Type": "application/json",
        "User-Agent": "Keyturn",
        "webhook-id": str(event),
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def pause_after(attempts: int, retry_after: str = "") -> timedelta | None:
    """How long to wait after so many failed attempts; None when it was the last.

    A receiver's `Retry-After` in seconds, up to an hour, may lengthen it; in any other
    form it counts for nothing. Raises nothing, whatever the receiver sent.
    """
    if attempts > len(PAUSES):
        return None
    pause = PAUSES[attempts - 1] * uniform(0.8, 1.2)  # noqa: S311 - no secret
    return max(timedelta(seconds=pause), wished(retry_after))


def wished(retry_after: str) -> timedelta:
    """The wish of a `Retry-After`, as `pause_after` heeds it; nothing if it is none."""
    return timedelta(seconds=_wish(retry_after))


def _wish(retry_after: str) -> int:
    """Seconds up to `_LONGEST_WISH`. `int` refuses a number of too many digits."""
    if not (retry_after.isascii() and retry_after.isdigit()):
        return 0
    digits = retry_after.lstrip("0")
    if len(digits) > len(str(_LONGEST_WISH)):
        return _LONGEST_WISH
    return min(int(digits or "0"), _LONGEST_WISH)


def rest_after(failures: int) -> timedelta:
    """How long an address is left alone after so many failures in a row."""
    return min(timedelta(seconds=2.0 ** min(failures, 10)), LONGEST_REST)


def shown_address(url: str) -> str:
    """What may be shown of an address that is a secret: its host, and how it ends.

    No host can look so, and nothing can be sent there. Of a short one not even the end
    is shown: it would be too much of it.
    """
    parts = urlsplit(url)
    rest = url[len(f"{parts.scheme}://{parts.netloc}") :]
    end = rest[-SHOWN:] if len(rest) >= ENOUGH else ""
    return f"{parts.scheme}://{parts.netloc}/…{end}"


def flaw_of(url: str) -> str:
    """Why this can be no webhook's address, as a sentence; empty if it can."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "This is not an address."
    plain = parts.scheme == "http" and settings.ALLOW_PRIVATE
    if not host or not (parts.scheme == "https" or plain):
        return "The address begins with https://."
    if "@" in parts.netloc or parts.fragment or not url.isascii() or " " in url:
        return "The address names a host and a path, and no user and no fragment."
    return ""
