"""What a single character may hide: which ones cannot be trusted to look like they are.

Judged from the Unicode tables of the standard library. `disguise` looks at a character
alone; what depends on its neighbours is in `kernel.visible`.
"""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

type Finding = Literal[
    "bidi",
    "invisible",
    "tag",
    "control",
    "escape",
    "space",
    "unassigned",
    "stacked_mark",
    "confusable",
    "mixed_script",
    "blank_lines",
    "blank_run",
]
type Script = Literal["Latin", "Greek", "Cyrillic", "Armenian", "Cherokee"]

WHY: Final[dict[Finding, str]] = {
    "bidi": "changes the order in which text is shown",
    "invisible": "cannot be seen",
    "tag": "an invisible tag that can carry hidden text",
    "control": "a control character",
    "escape": "a terminal command",
    "space": "not an ordinary space",
    "unassigned": "has no agreed meaning",
    "stacked_mark": "one of many marks on one letter",
}


@dataclass(frozen=True, slots=True)
class Disguise:
    """Why a character must not be shown as it is. `name` is Unicode's."""

    finding: Finding
    name: str
    why: str


# Latin letter → letters of other scripts (and phonetic signs) drawn the same way.
_DRAWN_ALIKE: Final = {
    "A": "\u0391\u0410\u13aa", "B": "\u0392\u0412\u13f4", "C": "\u0421\u03f9\u13df",
    "D": "\u13a0", "E": "\u0395\u0415\u13ac", "G": "\u050c\u13c0",
    "H": "\u0397\u041d\u13bb", "I": "\u0399\u0406\u04c0", "J": "\u0408\u037f\u13ab",
    "K": "\u039a\u041a\u13e6", "L": "\u13de", "M": "\u039c\u041c\u13b7",
    "N": "\u039d", "O": "\u039f\u041e\u0555", "P": "\u03a1\u0420\u13e2",
    "Q": "\u051a", "R": "\u13a1", "S": "\u0405\u13da\u054f", "T": "\u03a4\u0422\u13a2",
    "U": "\u054d", "V": "\u13d9", "W": "\u051c\u13b3", "X": "\u03a7\u0425",
    "Y": "\u03a5\u0423\u04ae", "Z": "\u0396\u13c3",
    "a": "\u03b1\u0430\u0251", "c": "\u0441\u03f2", "d": "\u0501", "e": "\u0435",
    "g": "\u0261\u0581", "h": "\u04bb\u0570", "i": "\u03b9\u0456", "j": "\u03f3\u0458",
    "k": "\u03ba", "l": "\u04cf", "n": "\u0578", "o": "\u03bf\u043e\u0585",
    "p": "\u03c1\u0440", "q": "\u051b\u0566", "s": "\u0455", "u": "\u03c5\u057d",
    "v": "\u03bd\u0475", "w": "\u051d", "x": "\u03c7\u0445", "y": "\u0443\u04af",
}  # fmt: skip
_PUNCTUATION_ALIKE: Final = {
    ".": "\u2024", "/": "\u2044\u2215\u29f8", ":": "\u2236\ua789",
    ";": "\u037e", "!": "\u01c3", "-": "\u2010\u2011",
}  # fmt: skip
_LATIN_OF: Final = {
    other: latin for latin, others in _DRAWN_ALIKE.items() for other in others
}
_SIGN_OF: Final = {
    other: sign for sign, others in _PUNCTUATION_ALIKE.items() for other in others
}
_PHONETIC: Final = frozenset("\u0251\u0261")
_ORDINAL: Final = frozenset("\u00aa\u00ba")  # 1ª, 2º: everyday Spanish and Portuguese
_FILLERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e")
_ISOLATES: Final = frozenset("\u2066\u2067\u2068\u2069")
_CONTROL_NAMES: Final = {
    "\0": "Null", "\a": "Bell", "\b": "Backspace", "\t": "Tab", "\n": "Line feed",
    "\v": "Line tabulation", "\f": "Form feed", "\r": "Carriage return",
    "\x1b": "Escape", "\x7f": "Delete", "\x85": "Next line",
}  # fmt: skip


@lru_cache(maxsize=4096)
def disguise(character: str) -> Disguise | None:
    """Why this character, wherever it stands, is not what it seems; None if it is."""
    finding = _hides(character)
    if finding:
        return Disguise(finding, name(character), WHY[finding])
    alike = _always_alike(character)
    if alike:
        return Disguise("confusable", name(character), looks_like(alike))
    return None


@lru_cache(maxsize=4096)
def script(letter: str) -> Script | None:
    """The script of a letter, among those that are mistaken for each other."""
    match unicodedata.name(letter, "").partition(" ")[0]:
        case "LATIN":
            return "Latin"
        case "GREEK":
            return "Greek"
        case "CYRILLIC":
            return "Cyrillic"
        case "ARMENIAN":
            return "Armenian"
        case "CHEROKEE":
            return "Cherokee"
    return None


def latin_twin(letter: str) -> str | None:
    """The Latin letter that is drawn like this letter of another script."""
    return _LATIN_OF.get(letter)


def looks_like(character: str) -> str:
    """In words: what a character can be mistaken for."""
    if character.isalpha():
        return f"looks like Latin {character}"
    return f"looks like {character}"


def name(character: str) -> str:
    """Unicode's name of a character as people write it: "Greek capital letter alpha"."""
    known = unicodedata.name(character, "") or _CONTROL_NAMES.get(character, "")
    return known.capitalize() or "Unnamed character"


def codepoint(character: str) -> str:
    """`U+202E`."""
    return f"U+{ord(character):04X}"


def _hides(character: str) -> Finding | None:
    if character in _BIDI or character in _ISOLATES:
        return "bidi"
    if character in _FILLERS or _is_variation_selector(character):
        return "invisible"
    if "\U000e0000" <= character <= "\U000e007f":
        return "tag"
    return _hides_by_category(character)


def _hides_by_category(character: str) -> Finding | None:
    match unicodedata.category(character):
        case "Cc":
            return None if character in "\t\n" else "control"
        case "Cf":
            return "invisible"
        case "Zs" | "Zl" | "Zp":
            return None if character == " " else "space"
        case "Cn" | "Co" | "Cs":
            return "unassigned"
    return None


def _is_variation_selector(character: str) -> bool:
    return (
        "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
        or "\u180b" <= character <= "\u180f"
    )


def _always_alike(character: str) -> str | None:
    """The ASCII character that this one stands in for in any context."""
    if character in _SIGN_OF:
        return _SIGN_OF[character]
    if character in _PHONETIC:
        return _LATIN_OF[character]
    return _styled(character)


def _styled(character: str) -> str | None:
    """`A` for a full-width, bold, script or double-struck A, and so on."""
    if character.isascii() or character in _ORDINAL:
        return None
    if unicodedata.category(character) not in {"Lu", "Ll", "Lo", "Nd", "Nl", "So"}:
        return None
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 and plain.isascii() and plain.isalnum() else None
