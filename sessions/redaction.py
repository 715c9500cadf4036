"""Taking credentials out of what is about to be kept and shown."""

import copy
from typing import Any, Final

from kernel.secrets import find_secret
from kernel.strict_json import Json

MOST: Final = 100
"""Places that are cut out one by one; a value with more of them is cut out whole."""


def redacted(value: Json) -> tuple[Json, list[str]]:
    """The value with a mark in each secret's place, and the kinds that were found."""
    clean, kinds = copy.deepcopy(value), []
    while secret := find_secret(clean):
        kinds.append(secret.kind)
        pointer = secret.pointer if len(kinds) < MOST else ""
        clean = _cut(clean, pointer, f"[redacted: {secret.kind}]")
    return clean, kinds


def _cut(value: Any, pointer: str, mark: str) -> Any:
    """Put `mark` at an RFC 6901 pointer, in place; the whole value is at ""."""
    if not pointer:
        return mark
    *way, last = [_unescaped(token) for token in pointer.split("/")[1:]]
    holder = value
    for token in way:
        holder = holder[_key(holder, token)]
    holder[_key(holder, last)] = mark
    return value


def _key(holder: Any, token: str) -> str | int:
    return int(token) if isinstance(holder, list) else token


def _unescaped(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")
