"""What an action is aimed at, once its arguments were changed.

An agent names the target beside the arguments, and people decide by it. Where it repeats
an argument it follows that argument; it must never go on naming what is aimed at no more.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from checkpoints.tools import ARGUMENTS_INVALID


def followed(target: Any, before: Any, after: Any) -> Any:
    """The target of the changed arguments: each text that stood in them is what stands
    there now.

    Raises `arguments_invalid` where one text of it stood at several places that differ now.
    """
    return _replaced(target, _became(before, after))


def stands_in(target: Any, arguments: Any) -> bool:
    """Whether each text of the target is one of the arguments'."""
    return set(_texts(target)) <= set(_texts(arguments))


def _became(before: Any, after: Any) -> Mapping[str, list[Any]]:
    """By each text of the arguments before, what stands at its places now."""
    found: dict[str, list[Any]] = defaultdict(list)
    for text, now in _pairs(before, after):
        if now not in found[text]:
            found[text].append(now)
    return found


def _pairs(before: Any, after: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(before, str):
        yield before, after
    elif isinstance(before, dict):
        for name, value in before.items():
            there = isinstance(after, dict)
            yield from _pairs(value, after.get(name) if there else None)
    elif isinstance(before, list):
        for at, value in enumerate(before):
            there = isinstance(after, list) and at < len(after)
            yield from _pairs(value, after[at] if there else None)


def _replaced(target: Any, became: Mapping[str, list[Any]]) -> Any:
    if isinstance(target, dict):
        return {name: _replaced(value, became) for name, value in target.items()}
    if isinstance(target, list):
        return [_replaced(value, became) for value in target]
    if not isinstance(target, str) or target not in became:
        return target
    if len(became[target]) > 1:
        raise ARGUMENTS_INVALID(
            "The target stands at several places of the arguments, which would differ. "
            "Change all of them alike.",
            "/arguments",
        )
    return became[target][0]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
