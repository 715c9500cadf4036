"""The texts of a selector, and what its patterns cost. Pure.

A pattern is matched in time that grows with the text and with the pattern's states, and
it is compiled anew each time that it is asked.
"""

import re
from math import prod
from typing import Final

# A raw literal has no escapes: it ends where its quote does.
LITERAL: Final = re.compile(
    r"""\b(?:[rR][bB]?|[bB][rR])(?:"[^"\n]*"|'[^'\n]*')"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
)
MATCHES: Final = re.compile(r"\bmatches\s*\(")
FOREIGN: Final = "A pattern is a text in quotes, of the selector itself."
SPACED: Final = "A pattern is written without the flag x."
# Steps of compiling, of which a second has some 20 million: of a class of letters from
# all scripts, and of any other character of a pattern.
OF_CLASS: Final = 25_000
OF_CHARACTER: Final = 100
_REPEATED: Final = re.compile(r"\{(\d*)(?:,(\d*))?\}")
_CLASS: Final = re.compile(r"\\[a-zA-Z]|\.")
_LARGE: Final = re.compile(r"\\[wWpPD]")
_SPACED: Final = re.compile(r"\(\?[a-zA-Z]*x")
_ESCAPE: Final = re.compile(
    r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))"
)


def bare(expression: str) -> str:
    """Without the words of its texts."""
    return LITERAL.sub('""', expression)


def flaw_of(expression: str) -> str:
    """Why its patterns cannot be told the price of; empty if they can."""
    if foreign_pattern(expression):
        return FOREIGN
    if MATCHES.search(bare(expression)) and _SPACED.search(_texts(expression)):
        return SPACED
    return ""


def foreign_pattern(expression: str) -> bool:
    """Whether a pattern is anything but a text of the expression's own."""
    blank = bare(expression)
    inside = (bracket(blank, found.end()) for found in MATCHES.finditer(blank))
    return any(one.rpartition(",")[2].strip() != '""' for one in inside)


def bracket(blank: str, start: int) -> str:
    """From behind an opening bracket to the one that closes it."""
    depth = 1
    for at in range(start, len(blank)):
        depth += {"(": 1, ")": -1}.get(blank[at], 0)
        if depth == 0:
            return blank[start:at]
    return blank[start:]


def counts(expression: str) -> int:
    """What the repetitions of all texts multiply to, whichever of them are patterns; a
    class of letters is many states."""
    texts = _texts(expression)
    times = [max(int(n or 0) for n in pair) for pair in _REPEATED.findall(texts)]
    return prod(max(1, n) for n in times) * (
        10 if times and _CLASS.search(texts) else 1
    )


def compiling(expression: str) -> int:
    """Steps of compiling all of its texts once."""
    texts = _texts(expression)
    once = OF_CHARACTER * len(texts) + OF_CLASS * len(_LARGE.findall(texts))
    return once * counts(expression)


def _texts(expression: str) -> str:
    """All of its texts as the evaluator has them."""
    return " ".join(map(_said, LITERAL.findall(expression)))


def _said(literal: str) -> str:
    if literal[0] in "rRbB":
        return literal
    return _ESCAPE.sub(_unescaped, literal)


def _unescaped(found: re.Match[str]) -> str:
    two, four, eight, octal, other = found.groups()
    if other is not None:
        return other
    code = int(octal, 8) if octal else int(two or four or eight, 16)
    return chr(min(code, 0x10FFFF))
