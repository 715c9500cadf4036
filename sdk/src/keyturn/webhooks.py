"""Verifying webhooks: Standard Webhooks, symmetric signatures (`v1`)."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from keyturn.errors import KeyturnError

TOLERANCE = 300  # seconds, both ways
LEAST = 24  # bytes of a secret: fewer could be guessed, and none is everybody's


class NotGenuine(KeyturnError):
    """This did not come from whoever holds the secret, or not now."""


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    now: float | None = None,
) -> Any:
    """The event in a webhook's body, once it has proved to be genuine.

    `body` is as it arrived, `secrets` one or, while they are rotated, several
    `whsec_…`. Handle each `webhook-id` once: deliveries are repeated. Raises
    `NotGenuine`, and `ValueError` for a secret that is none or has less than 24 bytes.
    """
    told = {name.lower(): value for name, value in headers.items()}
    try:
        message, sent = told["webhook-id"], told["webhook-timestamp"]
        signatures = told["webhook-signature"]
    except KeyError as error:
        raise NotGenuine(f"the header {error} is missing") from None
    _check_time(sent, time.time() if now is None else now)
    signed = f"{message}.{sent}.".encode() + body
    keys = [secrets] if isinstance(secrets, str) else secrets
    expected = [_signature(one, signed) for one in keys]
    if not any(_matches(given, expected) for given in signatures.split()):
        raise NotGenuine("no signature matches")
    return json.loads(body)


def _check_time(sent: str, now: float) -> None:
    if not (sent.isascii() and sent.isdecimal()):
        raise NotGenuine("webhook-timestamp is no number")
    if abs(now - int(sent)) > TOLERANCE:
        raise NotGenuine("it was sent too long ago, or in the future")


def _signature(secret: str, signed: bytes) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error as error:
        raise ValueError("a secret is whsec_ and base64") from error
    if len(key) < LEAST:
        raise ValueError(f"a secret is whsec_ and base64 of at least {LEAST} bytes")
    return base64.b64encode(hmac.digest(key, signed, sha256))


def _matches(given: str, expected: Sequence[bytes]) -> bool:
    version, _, signature = given.partition(",")
    found = [hmac.compare_digest(signature.encode(), one) for one in expected]
    return version == "v1" and any(found)
