"""Taking credentials out of what is about to be kept and shown.

In a secret's place stands its kind and a fingerprint, keyed for the tenant: the same
secret has the same one in all of its tenant's rows, and nobody can try guesses at it.
"""

import copy
import hmac
from typing import Any, Final
from uuid import UUID

from kernel.problems import Problem
from kernel.secrets import PRIVATE_KEY, Secret, find_secret
from kernel.strict_json import Json
from tenants.vault import DATA_ERASED, purpose_key

MOST: Final = 100
"""Places that are cut out one by one; a value with more of them is cut out whole."""
MOST_READ: Final = 10
"""As `MOST`, where much is read at once: each place takes one more look through all."""


def redacted(
    value: Json, tenant_id: UUID | None = None, *, most: int = MOST
) -> tuple[Json, list[str]]:
    """The value with a mark in each secret's place, and the kinds that were found.

    Of a text with a private key in it nothing is kept. With a tenant, inside its scope;
    without one, marks have no fingerprint.
    """
    clean, kinds = copy.deepcopy(value), []
    while secret := find_secret(clean):
        kinds.append(secret.kind)
        if len(kinds) >= most:
            return _mark(secret, tenant_id), kinds
        clean = _cut(clean, secret, _mark(secret, tenant_id))
    return clean, kinds


def redacted_text(text: str, tenant_id: UUID, *, most: int = MOST) -> str:
    """As `redacted`, for what is a text and stays one."""
    return str(redacted(text, tenant_id, most=most)[0])


def _mark(secret: Secret, tenant_id: UUID | None) -> str:
    if tenant_id is None:
        return f"[redacted: {secret.kind}]"
    try:
        key = purpose_key(tenant_id, "fingerprint")
    except Problem as problem:
        if problem.code != DATA_ERASED.code:
            raise
        return f"[redacted: {secret.kind}]"
    fingerprint = hmac.digest(key, secret.text.encode(errors="surrogatepass"), "sha256")
    return f"[redacted: {secret.kind}, {fingerprint[:4].hex()}]"


def _cut(value: Any, secret: Secret, mark: str) -> Any:
    """Put `mark` in the secret's place, in place where there are places."""
    if not secret.pointer:
        return _without(value, secret, mark)
    *way, last = [_unescaped(token) for token in secret.pointer.split("/")[1:]]
    holder = value
    for token in way:
        holder = holder[_key(holder, token)]
    key = _key(holder, last)
    holder[key] = _without(holder[key], secret, mark)
    return value


def _without(text: Any, secret: Secret, mark: str) -> str:
    """What holds a secret in its keys, or a private key, goes as a whole."""
    if not isinstance(text, str) or secret.kind == PRIVATE_KEY:
        return mark
    return text.replace(secret.text, mark)


def _key(holder: Any, token: str) -> str | int:
    return int(token) if isinstance(holder, list) else token


def _unescaped(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")
