"""Selectors: bounded CEL expressions over one action.

The evaluator has no cost limit of its own, so expressions are bounded when they are
saved (short, one comprehension, none that builds a list) and what a comprehension
walks is bounded when they are evaluated.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import cel

from approvals.policy.patterns import (
    LITERAL,
    MATCHES,
    bare,
    bracket,
    compiling,
    counts,
    flaw_of,
)
from kernel.problems import declare

MOST_CHARACTERS: Final = 500
MOST_ELEMENTS: Final = 1000
MOST_STEPS: Final = 20_000_000  # elements walked, times the size of all there is
MOST_TOGETHER: Final = 5 * MOST_STEPS  # of all selectors that one action is asked of
COMPREHENSION: Final = re.compile(
    r"\.\s*(all|exists|exists_one|existsOne|map|filter)\s*\("
)
BOUND: Final = re.compile(COMPREHENSION.pattern + r"\s*(\w+)\s*,")
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
NAMED: Final = re.compile(rf"(?<![\w.])(?:{'|'.join(VARIABLES)})\b")
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
    blank = bare(expression)
    if UNREADABLE.search(blank) or any(three in expression for three in ('"""', "'''")):
        return "Comments, back-ticks and triple quotes are not taken."
    if has_nested_comprehension(expression):
        return "A comprehension may not contain another."
    if "map" in COMPREHENSION.findall(blank):
        return "`map` builds a list, which a selector has no use for."
    return flaw_of(expression)


def _unknown(expression: str, program: "cel.Program") -> str:
    """What it names that there is not: it would err for every action."""
    bound = {name for _, name in BOUND.findall(bare(expression))}
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
    return len(COMPREHENSION.findall(bare(expression))) > 1


def _blanked(expression: str) -> str:
    """Every character in its place, and literals without their words."""
    return LITERAL.sub(lambda one: " " * len(one[0]), expression)


class Sight:
    """What selectors see of one action; the evaluator takes it over once for all."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._variables = dict(variables)
        self._spent = 0

    @cached_property
    def context(self) -> "cel.Context":
        """Raises whatever the evaluator does for a value that it cannot hold."""
        return cel.Context(self._variables)

    @cached_property
    def measured(self) -> tuple[int, int]:
        """The length of the longest list or object anywhere, and the size of it all."""
        return _measured(self._variables)

    def too_much_for(self, expression: str) -> str:
        """Why it may not be asked of this action; '' if it may.

        A comprehension takes each element, and may look at everything for each, as often
        as it names it; what is added up is copied with every term.
        """
        largest, _ = self.measured
        if _greed(expression).walks and largest > MOST_ELEMENTS:
            return f"a list is longer than {MOST_ELEMENTS}"
        steps = self._steps(expression)
        return next((why for why in steps if steps[why] > MOST_STEPS), "")

    def spend(self, expression: str) -> str:
        """The same for all together that are asked of it, of which this is the next."""
        too_much = self.too_much_for(expression)
        if too_much:
            return too_much
        self._spent += sum(self._steps(expression).values())
        return (
            "too much for all policies together" if self._spent > MOST_TOGETHER else ""
        )

    def _steps(self, expression: str) -> Mapping[str, int]:
        """How many it may take, by what is said where they are too many."""
        (largest, weight), greed = self.measured, _greed(expression)
        walk = largest * weight * greed.each**2 * greed.counts
        times = largest if greed.compiles_each else 1
        return {
            "too large to be walked": walk * greed.walks,
            "too large for such a pattern": weight * greed.counts * greed.matches,
            "too many to be matched by such a pattern": greed.compiling * times,
            "too large to be added up": weight * greed.sums**2,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Greed:
    """How often an expression may take everything: in sums, and for each element.

    `counts` is what the repetitions of its patterns multiply to: they are states.
    `compiling` are the steps to compile them all, which is done for each element anew
    where they stand in what is done for each.
    """

    walks: bool
    each: int
    sums: int
    matches: bool
    counts: int
    compiling: int
    compiles_each: bool


@lru_cache(maxsize=1024)
def _greed(expression: str) -> _Greed:
    blank = bare(expression)
    body, matches = _walked(blank), bool(MATCHES.search(blank))
    return _Greed(
        walks=bool(COMPREHENSION.search(expression)),
        each=max(1, len(NAMED.findall(body)) + body.count("+")),
        sums=blank.count("+"),
        matches=matches,
        counts=counts(expression) if matches else 1,
        compiling=compiling(expression) if matches else 0,
        compiles_each=bool(MATCHES.search(body)),
    )


def _walked(blank: str) -> str:
    """What stands inside the comprehension's brackets."""
    found = COMPREHENSION.search(blank)
    return bracket(blank, found.end()) if found else ""


def selects(expression: str, sight: Sight) -> bool:
    """Whether the expression holds. Raises `SelectorError` if it cannot tell."""
    flaw = flaw_of(expression)
    if flaw:
        raise SelectorError(flaw)
    too_much = sight.spend(expression)
    if too_much:
        raise SelectorError(too_much)
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
