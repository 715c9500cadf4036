"""Selectors: bounded CEL expressions over one action.

The evaluator has no cost limit of its own, so expressions are bounded when they are
saved (short, one comprehension, none that builds a list) and what a comprehension
walks is bounded when they are evaluated.
"""

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, Final

import cel

from kernel.problems import declare

MOST_CHARACTERS: Final = 500
MOST_ELEMENTS: Final = 1000
MOST_STEPS: Final = 20_000_000  # elements walked, times the size of all there is
COMPREHENSION: Final = re.compile(
    r"\.\s*(all|exists|exists_one|existsOne|map|filter)\s*\("
)
BOUND: Final = re.compile(COMPREHENSION.pattern + r"\s*(\w+)\s*,")
# A raw literal has no escapes: it ends where its quote does.
LITERAL: Final = re.compile(
    r"""\b(?:[rR][bB]?|[bB][rR])(?:"[^"\n]*"|'[^'\n]*')"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
)
UNREADABLE: Final = re.compile(r"//|`")
PLACE: Final = re.compile(r"<input>:(\d+):(\d+): (?:Syntax error: )?(.*)")
VARIABLES: Final = (
    "tool",
    "arguments",
    "target",
    "risk",
    "environment",
    "agent",
    "session",
    "facts",
)
TYPES: Final = frozenset(
    ["bool", "bytes", "double", "int", "list", "map", "string", "type", "uint"]
)
FUNCTIONS: Final = frozenset(
    [
        "bool",
        "bytes",
        "contains",
        "double",
        "duration",
        "dyn",
        "endsWith",
        "has",
        "int",
        "matches",
        "max",
        "min",
        "size",
        "startsWith",
        "string",
        "timestamp",
        "type",
        "uint",
        "getDate",
        "getDayOfMonth",
        "getDayOfWeek",
        "getDayOfYear",
        "getFullYear",
        "getHours",
        "getMilliseconds",
        "getMinutes",
        "getMonth",
        "getSeconds",
    ]
)

INVALID_SELECTOR = declare(
    "policy.selector_invalid", status=422, title="The selector cannot be used"
)


class SelectorError(Exception):
    """The selector could not be evaluated for this action."""


def check_selector(expression: str, pointer: str = "/selector") -> None:
    """Refuse what cannot be evaluated safely, or never could be.

    Raises `policy.selector_invalid`, with line and column where there is a place.
    """
    flaw = _unbounded(expression)
    if flaw:
        raise INVALID_SELECTOR(flaw, pointer)
    try:
        program = _compile(expression)
    except ValueError as error:
        raise INVALID_SELECTOR(_told(str(error)), pointer) from error
    flaw = _unknown(expression, program)
    if flaw:
        raise INVALID_SELECTOR(flaw, pointer)


def _unbounded(expression: str) -> str:
    """Why it may take too long, or hide what it does from the other checks."""
    if len(expression) > MOST_CHARACTERS:
        return f"At most {MOST_CHARACTERS} characters; this has {len(expression)}."
    bare = _bare(expression)
    if UNREADABLE.search(bare) or any(three in expression for three in ('"""', "'''")):
        return "Comments, back-ticks and triple quotes are not taken."
    if has_nested_comprehension(expression):
        return "A comprehension may not contain another."
    if "map" in COMPREHENSION.findall(bare):
        return "`map` builds a list, which a selector has no use for."
    return ""


def _unknown(expression: str, program: "cel.Program") -> str:
    """What it names that there is not: it would err for every action."""
    bound = {name for _, name in BOUND.findall(_bare(expression))}
    for name in sorted(set(program.variables()) - {*VARIABLES, *TYPES, *bound}):
        said = ", ".join(VARIABLES)
        return f"There is no `{name}`. It may name {said}.{_at(expression, name)}"
    for name in sorted(set(program.functions()) - FUNCTIONS):
        if name[0] not in "_@!-":
            return f"There is no function `{name}`.{_at(expression, name)}"
    return ""


def _at(expression: str, name: str) -> str:
    found = re.search(rf"(?<![\w.]){re.escape(name)}\b", _blanked(expression))
    if found is None:
        return ""
    before = expression[: found.start()].split("\n")
    return f" Line {len(before)}, column {len(before[-1]) + 1}."


def _told(error: str) -> str:
    """The evaluator's first complaint, and where."""
    found = PLACE.search(error)
    if found is None:
        return "It is not an expression that can be read."
    line, column, words = found.groups()
    words = words.split(" expecting ")[0].strip().replace("'<EOF>'", "the end")
    return f"{words[:1].upper()}{words[1:]}. Line {line}, column {column}."


def has_nested_comprehension(expression: str) -> bool:
    """Whether a comprehension's brackets hold another, or its result is walked."""
    return len(COMPREHENSION.findall(_bare(expression))) > 1


def _bare(expression: str) -> str:
    return LITERAL.sub('""', expression)


def _blanked(expression: str) -> str:
    """Every character in its place, and literals without their words."""
    return LITERAL.sub(lambda one: " " * len(one[0]), expression)


class Sight:
    """What selectors see of one action; the evaluator takes it over once for all."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._variables = dict(variables)

    @cached_property
    def context(self) -> "cel.Context":
        """Raises whatever the evaluator does for a value that it cannot hold."""
        return cel.Context(self._variables)

    @cached_property
    def is_too_long(self) -> str:
        """Why no comprehension may walk it; '' if one may.

        A comprehension takes each element, and may look at everything for each.
        """
        largest, weight = _measured(self._variables)
        if largest > MOST_ELEMENTS:
            return f"a list is longer than {MOST_ELEMENTS}"
        return "too large to be walked" if largest * weight > MOST_STEPS else ""


def selects(expression: str, sight: Sight) -> bool:
    """Whether the expression holds. Raises `SelectorError` if it cannot tell."""
    if COMPREHENSION.search(expression) and sight.is_too_long:
        raise SelectorError(sight.is_too_long)
    try:
        answer = _compile(expression).execute(sight.context)
    except Exception as error:  # whatever the evaluator raises: it could not tell
        raise SelectorError(str(error)) from error
    if not isinstance(answer, bool):
        raise SelectorError("the selector did not answer true or false")
    return answer


@lru_cache(maxsize=1024)
def _compile(expression: str) -> "cel.Program":
    return cel.compile(expression)


def _measured(value: Any) -> tuple[int, int]:
    """The length of the longest list or object anywhere, and the size of it all."""
    largest, weight, waiting = 0, 0, [value]
    while waiting:
        one = waiting.pop()
        weight += len(one) if isinstance(one, str) else 8
        if isinstance(one, dict | list):
            largest = max(largest, len(one))
            waiting.extend(one.values() if isinstance(one, dict) else one)
            weight += sum(map(len, one)) if isinstance(one, dict) else 0
    return largest, weight
