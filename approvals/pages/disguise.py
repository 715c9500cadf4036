"""How much of an action is not what it seems to the eye."""

from collections.abc import Iterator, Mapping
from typing import Any

from kernel.visible import findings


def count_disguised(value: Any) -> int:
    """Marked characters (and blank lines) in every text and key inside the value."""
    return sum(sum(findings(text).values()) for text in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inside in value.items():
            yield str(key)
            yield from _texts(inside)
    elif isinstance(value, list | tuple):
        for inside in value:
            yield from _texts(inside)
