"""Two values side by side: every place where they differ."""

import re
from collections.abc import Mapping
from typing import Any, Final

import rfc8785

from approvals.presentation.arguments import LOOKS_TYPED, exact_text
from approvals.presentation.edit import Difference
from approvals.presentation.schema import escape

GONE: Final = object()
MISTAKABLE: Final = re.compile(rf'$|["{{\[]|(?:{LOOKS_TYPED.pattern})$')


def differences(before: Any, after: Any, pointer: str = "") -> list[Difference]:
    """Every place where two values differ, with the exact text of both."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = dict.fromkeys([*before, *after])
        pairs = [(key, before.get(key, GONE), after.get(key, GONE)) for key in keys]
        return differing(pairs, pointer)
    if isinstance(before, list) and isinstance(after, list):
        longest = max(len(before), len(after))
        pairs = [
            (str(at), at_or_gone(before, at), at_or_gone(after, at))
            for at in range(longest)
        ]
        return differing(pairs, pointer)
    texts = telling(before), telling(after)
    if texts[0] == texts[1]:
        return []
    return [Difference(pointer=pointer, before=texts[0], after=texts[1])]


def differing(pairs: list[tuple[str, Any, Any]], pointer: str) -> list[Difference]:
    return [
        one
        for key, old, new in pairs
        for one in differences(old, new, f"{pointer}/{escape(key)}")
    ]


def at_or_gone(values: list[Any], at: int) -> Any:
    return values[at] if at < len(values) else GONE


def telling(value: Any) -> str | None:
    """The exact text; a text that could be taken for another value stands in quotes."""
    if value is GONE:
        return None
    text = exact_text(value)
    mistakable = isinstance(value, str) and MISTAKABLE.match(text)
    return rfc8785.dumps(value).decode() if mistakable else text
