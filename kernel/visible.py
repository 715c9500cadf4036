"""Text of strangers, with everything in it that the eye would miss.

`segments` cuts a text into plain pieces and marked ones; joined together they are the
text again, unchanged. What is marked: characters that cannot be seen or change how
others are shown, spaces that are not spaces, terminal commands, letters that pass for
letters of another script, and blank space long enough to push something out of view.
Linear in the length of the text; nothing is normalised or dropped.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from kernel.characters import (
    WHY,
    Disguise,
    Finding,
    Script,
    codepoint,
    disguise,
    latin_twin,
    looks_like,
    name,
    script,
)

type SegmentKind = Literal["text", "codepoint", "confusable", "gap"]

BLANK_LINES_SHOWN: Final = 4
BLANK_RUN_SHOWN: Final = 79
STACKED_MARKS_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text.

    `kind` says how to show it: `text` as it is; `codepoint` by its `codepoint` alone;
    `confusable` as it is with its `codepoint` beside it; `gap` by its `name` ("312
    blank lines"). `text` is always the exact original. `codepoint`, `name`, `why` and
    `finding` are None for plain text. `count` is how many characters (or blank lines)
    the piece stands for.
    """

    kind: SegmentKind
    text: str
    codepoint: str | None = None
    name: str | None = None
    why: str | None = None
    finding: Finding | None = None
    count: int = 1


def segments(text: str) -> list[Segment]:
    """The text in order, cut so that nothing in it stays unseen."""
    if text and _ORDINARY.fullmatch(text):
        return [Segment("text", text)]
    found: list[Segment] = []
    at = 0
    for mark in _marks(text):
        if mark.start < at:  # inside a gap that was marked as a whole
            continue
        if mark.start > at:
            found.append(Segment("text", text[at : mark.start]))
        found.append(_segment(text[mark.start : mark.end], mark))
        at = mark.end
    if at < len(text):
        found.append(Segment("text", text[at:]))
    return found


def findings(text: str) -> Mapping[Finding, int]:
    """How many characters (or blank lines) of each kind were marked."""
    counts: Counter[Finding] = Counter()
    for segment in segments(text):
        if segment.finding:
            counts[segment.finding] += segment.count
    return counts


def is_plain(text: str) -> bool:
    """Whether the text is no more and no less than it seems."""
    return not findings(text)


def single_line(text: str) -> str:
    """The text as one line for a log: whatever is not plain becomes an escape.

    A backslash is doubled, so that no text can imitate an escape.
    """
    return "".join(
        segment.text.translate(_LINE_ESCAPES)
        if segment.kind in {"text", "gap"}
        else "".join(map(_escaped, segment.text))
        for segment in segments(text)
    )


def bracketed(text: str) -> str:
    """The text for where nothing but characters can be shown, such as mail.

    What cannot be seen stands as `[U+202E]`; what passes for something else is as it
    is, with that behind it; a gap is called by its size.
    """
    return "".join(map(_bracketed, segments(text)))


@dataclass(frozen=True, slots=True)
class _Mark:
    start: int
    end: int
    finding: Finding
    name: str
    why: str
    count: int


_LINE_ESCAPES: Final = str.maketrans(
    {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
)
_UNUSUAL: Final = re.compile(
    r"(?P<escape>\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~])|(?P<run>([^\t\n -~])\3*+)"
)
_ORDINARY: Final = re.compile(r"(?:[!-~]++ ?)*+")  # most texts: nothing to be marked
_WORD: Final = re.compile(r"[^\W\d_]+")
_BLANK_RUN: Final = re.compile(
    rf"(?<![^\S\n])[^\S\n]{{{BLANK_RUN_SHOWN + 1},}}"  # starts only where a run does
)
_BLANKS: Final = (
    " \t\r\f\v\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u200b\u200c\u200d\u2028\u2029\u202f\u205f\u2060\u2800\u3000\u3164\ufeff"
)


def _marks(text: str) -> list[_Mark]:
    """All marks by their place; where two begin together the longer comes first."""
    marks = [*_unusual_marks(text), *_blank_run_marks(text), *_blank_line_marks(text)]
    if not text.isascii():
        marks += _script_marks(text)
    return sorted(marks, key=lambda mark: (mark.start, -mark.end))


def _segment(piece: str, mark: _Mark) -> Segment:
    kind: SegmentKind = "codepoint"
    shown: str | None = codepoint(piece[0])
    if mark.finding in {"blank_lines", "blank_run"}:
        kind, shown = "gap", None
    elif mark.finding in {"confusable", "mixed_script"}:
        kind = "confusable"
    elif mark.finding == "escape":
        shown = f"ESC {piece[1:]}"
    return Segment(
        kind, piece, shown, mark.name, mark.why, mark.finding, count=mark.count
    )


def _unusual_marks(text: str) -> Iterator[_Mark]:
    stacked = last = 0
    for match in _UNUSUAL.finditer(text):
        start, end = match.span()
        if match["escape"]:
            yield _Mark(start, end, "escape", "Escape sequence", WHY["escape"], 1)
            continue
        character = text[start]
        if unicodedata.combining(character):
            stacked = (stacked if start == last else 0) + end - start
            last = end
        hidden = disguise(character) or _stacked(
            character, stacked if last == end else 0
        )
        if hidden and not _is_at_home(text, start, end):
            yield _mark(start, end, hidden)


def _stacked(character: str, height: int) -> Disguise | None:
    if height <= STACKED_MARKS_SHOWN:
        return None
    return Disguise("stacked_mark", name(character), WHY["stacked_mark"])


def _is_at_home(text: str, start: int, end: int) -> bool:
    """Whether a hidden character does here what it is for, in ordinary writing."""
    if end - start > 1:
        return False
    before, after = text[start - 1 : start], text[end : end + 1]
    match text[start]:
        case "\r":
            return after == "\n"
        case "\ufe0e" | "\ufe0f":
            return _is_pictogram(before) or before in set("0123456789#*")
        case "\u200c" | "\u200d":
            return _joins(before, after)
    return False


def _joins(before: str, after: str) -> bool:
    """Whether a joiner stands in an emoji, after an Indic virama or in Arabic."""
    if not before or not after:
        return False
    if _is_pictogram(before) or before == "\ufe0f":
        return _is_pictogram(after)
    return unicodedata.combining(before) == 9 or all(
        name(letter).startswith("Arabic letter") for letter in (before, after)
    )


def _is_pictogram(character: str) -> bool:
    return bool(character) and (
        unicodedata.category(character) == "So"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _mark(start: int, end: int, hidden: Disguise) -> _Mark:
    return _Mark(start, end, hidden.finding, hidden.name, hidden.why, end - start)


def _blank_run_marks(text: str) -> Iterator[_Mark]:
    for match in _BLANK_RUN.finditer(text):
        yield _gap(*match.span(), "blank_run", len(match[0]), "blank characters")


def _blank_line_marks(text: str) -> Iterator[_Mark]:
    at = begun = lines = 0
    for line in text.split("\n"):
        if line.strip(_BLANKS):
            if lines > BLANK_LINES_SHOWN:
                yield _gap(begun, at, "blank_lines", lines, "blank lines")
            lines = 0
        else:
            begun = begun if lines else at
            lines += 1
        at += len(line) + 1
    if lines > BLANK_LINES_SHOWN:
        yield _gap(begun, len(text), "blank_lines", lines, "blank lines")


def _gap(start: int, end: int, finding: Finding, count: int, what: str) -> _Mark:
    why = "enough to push something out of view"
    return _Mark(start, end, finding, f"{count} {what}", why, count)


@dataclass(frozen=True, slots=True)
class _Word:
    """A run of letters and the scripts in it; only those that have twins count."""

    start: int
    text: str
    scripts: Counter[Script]

    @property
    def only(self) -> Script | None:
        return next(iter(self.scripts)) if len(self.scripts) == 1 else None

    @property
    def all_twins(self) -> bool:
        """Whether it could be read as a Latin word from end to end."""
        return self.only not in {None, "Latin"} and all(map(latin_twin, self.text))


def _script_marks(text: str) -> Iterator[_Mark]:
    words = [_word(match) for match in _WORD.finditer(text)]
    for before, word, after in zip(
        [None, *words], words, [*words[1:], None], strict=False
    ):
        if len(word.scripts) > 1:
            yield from _strangers(word)
        elif word.all_twins and not (_vouches(before, word) or _vouches(after, word)):
            yield from _imposture(word)


def _word(match: re.Match[str]) -> _Word:
    text = match[0]
    if text.isascii():
        return _Word(match.start(), text, Counter({"Latin": len(text)}))
    scripts = Counter(found for found in map(script, text) if found)
    return _Word(match.start(), text, scripts)


def _vouches(neighbour: _Word | None, word: _Word) -> bool:
    """Whether the word next to it is beyond doubt of the same script."""
    return (
        neighbour is not None
        and neighbour.only == word.only
        and not neighbour.all_twins
    )


def _strangers(word: _Word) -> Iterator[_Mark]:
    """The letters of a word that are not of its main script."""
    main = _main_script(word)
    for at, letter in enumerate(word.text, start=word.start):
        own = script(letter)
        if own and own != main:
            yield _letter_mark(at, letter, f"{own} letter among {main} letters")


def _main_script(word: _Word) -> Script:
    """What the word pretends to be: Latin wherever it can be read so."""
    others = [letter for letter in word.text if script(letter) not in {None, "Latin"}]
    if "Latin" in word.scripts and all(map(latin_twin, others)):
        return "Latin"
    return max(word.scripts, key=lambda each: (word.scripts[each], each == "Latin"))


def _imposture(word: _Word) -> Iterator[_Mark]:
    if word.only == "Greek" and len(word.text) == 1:
        return  # a symbol of mathematics
    for at, letter in enumerate(word.text, start=word.start):
        yield _letter_mark(at, letter, f"{word.only} letter")


def _letter_mark(at: int, letter: str, otherwise: str) -> _Mark:
    twin = latin_twin(letter)
    if twin:
        return _Mark(at, at + 1, "confusable", name(letter), looks_like(twin), 1)
    return _Mark(at, at + 1, "mixed_script", name(letter), otherwise, 1)


def _bracketed(segment: Segment) -> str:
    match segment.kind:
        case "text":
            return segment.text
        case "gap":
            return f"[{segment.name}]"
        case "confusable":
            return f"{segment.text}[{segment.codepoint}]"
    times = f", {segment.count} times" if segment.count > 1 else ""
    return f"[{segment.codepoint}{times}]"


def _escaped(character: str) -> str:
    if " " <= character <= "~":
        return character.replace("\\", r"\\")
    number = ord(character)
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
