"""JSON that says exactly what was meant, or nothing at all.

`json` alone turns keys into text, writes NaN, and takes whatever subclasses a number:
a reviewer would then approve something else than what the caller has in hand.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from keyturn.errors import NotExact

MAX_DEPTH = 64
_EXACT_UP_TO = 2**53


def encode(value: Any, *, in_order: bool = False) -> bytes:
    """JSON in ASCII: the same value, the same bytes. Raises `NotExact`.

    With `in_order` the keys of objects stay as they are.
    """
    check(value)
    text = json.dumps(
        value, separators=(",", ":"), sort_keys=not in_order, allow_nan=False
    )
    return text.encode()


def same(one: Any, other: Any) -> bool:
    """Whether two values are one in JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            same(held, other[key]) for key, held in one.items()
        )
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def check(value: Any, pointer: str = "", depth: int = 0) -> None:
    """Raises `NotExact` for what is no JSON, or would not arrive as it is."""
    if depth > MAX_DEPTH:
        raise NotExact(pointer, "is nested too deeply")
    if isinstance(value, Mapping):
        if type(value) is not dict:
            raise NotExact(pointer, f"is a {type(value).__name__}, not a dict")
        for key, held in value.items():
            if type(key) is not str:
                raise NotExact(pointer, f"has the key {key!r}, which is no text")
            check(held, f"{pointer}/{_escaped(key)}", depth + 1)
    elif type(value) in (list, tuple):
        for place, held in enumerate(value):
            check(held, f"{pointer}/{place}", depth + 1)
    else:
        _check_one(value, pointer)


def _check_one(value: Any, pointer: str) -> None:
    if value is None or type(value) in (bool, str):
        return
    if type(value) is int:
        if abs(value) > _EXACT_UP_TO:
            raise NotExact(pointer, "is too large a number to stay exact: use text")
        return
    if type(value) is float:
        if not math.isfinite(value):
            raise NotExact(pointer, f"{value} is no number in JSON")
        return
    raise NotExact(pointer, f"{type(value).__name__} has no JSON form")


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
