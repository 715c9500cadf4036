"""What an action is aimed at, once its arguments were changed.

An agent names the target beside the arguments, and people decide by it. Where it repeats
an argument it follows that argument; it must never go on naming what is aimed at no more.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import zip_longest
from typing import Any, Final

from checkpoints.tools import ARGUMENTS_INVALID
from kernel.canonical import canonical_bytes

MOST_BYTES: Final = 16 * 1024  # of a target, however it came about
WHOLE: Final = object()  # an object or a list, which says no one thing

type Became = Mapping[str, Mapping[tuple[type, Any], Any]]
"""By each text, the different values that stand at its places now."""


def followed(target: Any, before: Any, after: Any) -> Any:
    """The target of the changed arguments: each text that stood in them is what stands
    there now.

    Raises `arguments_invalid` where that is not one value: some places of the text have
    changed and others have not, or it stands elsewhere now; and for a target that would
    be too large.
    """
    became = _became(frozenset(_texts(target)), before, after)
    now = _replaced(target, became, frozenset(_texts(after)))
    if now != target:
        _refuse_large(now)
    return now


def stands_in(target: Any, arguments: Any) -> bool:
    """Whether each text of the target is one of the arguments'."""
    return set(_texts(target)) <= set(_texts(arguments))


def _became(wanted: Set[str], before: Any, after: Any) -> Became:
    """Of the texts that are wanted alone: arguments are large, and targets are not."""
    found: dict[str, dict[tuple[type, Any], Any]] = {}
    for text, now in _pairs(before, after):
        if text in wanted:
            one = WHOLE if isinstance(now, dict | list) else now
            found.setdefault(text, {})[type(one), one] = one  # 1 is not true
    return found


def _pairs(before: Any, after: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(before, str):
        yield before, after
    elif isinstance(before, dict):
        for name, value in before.items():
            there = isinstance(after, dict)
            yield from _pairs(value, after.get(name) if there else None)
    elif isinstance(before, list):
        for value, now in _side_by_side(before, after):
            yield from _pairs(value, now)


def _side_by_side(before: list[Any], after: Any) -> Iterator[tuple[Any, Any]]:
    """What was added or taken out between others moves none of them."""
    now = after if isinstance(after, list) else []
    head = _alike(before, now)
    tail = _alike(before[head:][::-1], now[head:][::-1])
    old, new = before[head : len(before) - tail], now[head : len(now) - tail]
    yield from zip(before[:head], now[:head], strict=True)
    yield from zip_longest(old, new[: len(old)])
    yield from zip(before[len(before) - tail :], now[len(now) - tail :], strict=True)


def _alike(before: Sequence[Any], after: Sequence[Any]) -> int:
    """How many they begin with that are the same."""
    pairs = enumerate(zip(before, after, strict=False))
    different = (at for at, (one, other) in pairs if one != other)
    return next(different, min(len(before), len(after)))


def _replaced(target: Any, became: Became, still: Set[str]) -> Any:
    if isinstance(target, dict):
        return {name: _replaced(one, became, still) for name, one in target.items()}
    if isinstance(target, list):
        return [_replaced(one, became, still) for one in target]
    if not isinstance(target, str) or target not in became:
        return target
    return _one(target, list(became[target].values()), still)


def _one(text: str, values: list[Any], still: Set[str]) -> Any:
    if values == [text]:
        return text
    if len(values) > 1 or values[0] is WHOLE or text in still:
        raise ARGUMENTS_INVALID(
            "What the target names would stand at some of its places and not at others, "
            "so that nobody could tell what is aimed at. Change all of them alike.",
            "/arguments",
        )
    return values[0]


def _refuse_large(target: Any) -> None:
    """A short text that it repeats may have become a long one. Sums come first: what they
    add up to is never built."""
    long = sum(map(len, _texts(target))) > MOST_BYTES
    if long or len(canonical_bytes(target)) > MOST_BYTES:
        raise ARGUMENTS_INVALID(
            f"The target would be longer than {MOST_BYTES} bytes.", "/arguments"
        )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
