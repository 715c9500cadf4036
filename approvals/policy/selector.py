"""Selectors: bounded CEL expressions over one action.

The evaluator has no cost limit of its own, so expressions are bounded when they are
saved: short, and never a comprehension within a comprehension.
"""

import re
from functools import lru_cache
from typing import Any, Final

import cel

from kernel.problems import declare

MOST_CHARACTERS: Final = 500
MOST_ELEMENTS: Final = 1000
COMPREHENSION: Final = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(")
LITERAL: Final = re.compile(r"""r?("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""")

INVALID_SELECTOR = declare(
    "policy.selector_invalid", status=422, title="The selector cannot be used"
)


class SelectorError(Exception):
    """The selector could not be evaluated for this action."""


def check_selector(expression: str, pointer: str = "/selector") -> None:
    """Refuse what cannot be evaluated safely. Raises `policy.selector_invalid`."""
    if len(expression) > MOST_CHARACTERS:
        raise INVALID_SELECTOR(
            f"At most {MOST_CHARACTERS} characters; this has {len(expression)}.",
            pointer,
        )
    if has_nested_comprehension(expression):
        raise INVALID_SELECTOR("A comprehension may not contain another.", pointer)
    try:
        _compile(expression)
    except ValueError as error:
        raise INVALID_SELECTOR(str(error).splitlines()[0], pointer) from error


def has_nested_comprehension(expression: str) -> bool:
    """Whether a comprehension's brackets hold another, or its result is walked."""
    bare = LITERAL.sub('""', expression)
    return len(COMPREHENSION.findall(bare)) > 1


def selects(expression: str, variables: dict[str, Any]) -> bool:
    """Whether the expression holds. Raises `SelectorError` if it cannot tell."""
    if _largest(variables) > MOST_ELEMENTS and COMPREHENSION.search(expression):
        raise SelectorError(f"a list is longer than {MOST_ELEMENTS}")
    try:
        answer = _compile(expression).execute(variables)
    except Exception as error:  # whatever the evaluator raises: it could not tell
        raise SelectorError(str(error)) from error
    if not isinstance(answer, bool):
        raise SelectorError("the selector did not answer true or false")
    return answer


@lru_cache(maxsize=1024)
def _compile(expression: str) -> "cel.Program":
    return cel.compile(expression)


def _largest(value: Any) -> int:
    """The length of the longest list or object anywhere in the value."""
    largest, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            largest = max(largest, len(one))
            waiting.extend(one.values() if isinstance(one, dict) else one)
    return largest
