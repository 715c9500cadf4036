"""Stored text that tries to be more than text: instructions, and claims of authority.

`suspicions` names what it reads like. It is a mark and no filter: nothing is granted or
refused by it, since nothing is granted by text at all. What is marked is shown as such,
trusted less, and never quoted in a summary. A miss is possible, and so is a false alarm.
"""

import re
import unicodedata
from typing import Final, Literal

from kernel.visible import findings

type Suspicion = Literal["instruction", "authority", "disguise"]

LONGEST: Final = 100_000  # characters that are looked at
_HIDES: Final = frozenset({"bidi", "invisible", "tag", "escape", "blank_lines"})
_UNSEEN: Final = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_GAP: Final = re.compile(r"\s+")

_INSTRUCTION: Final = re.compile(
    r"(?:ignore|disregard|forget|override)\s+(?:\w+\s+){0,4}"
    r"(?:instruction|rule|prompt|polic|guardrail|restriction|limit)"
    r"|(?:^|\W)(?:system|developer)\s*(?:prompt|message|override|note)?\s*[:>\]]"
    r"|<\|?/?\s*(?:im_start|im_end|system|assistant|instructions?)\b"
    r"|\[/?inst\]"
    r"|\byou\s+(?:are\s+now|must\s+now|should\s+now|have\s+to\s+now)\b"
    r"|\bnew\s+instructions?\b"
    r"|\b(?:skip|bypass|waive)\s+(?:\w+\s+){0,3}(?:approval|review|check|verification)"
    r"|\bdo\s+not\s+(?:ask|tell|inform|wait\s+for|mention)\b"
    r"|\bwithout\s+(?:asking|telling|waiting)\b",
    re.IGNORECASE,
)
_AUTHORITY: Final = re.compile(
    r"\b(?:has|have|had|was|were|is|are|been|be|already|pre-?|auto-?|fully)\s*"
    r"(?:been\s+|already\s+)?(?:approved|authori[sz]ed|permitted|signed\s+off)\b"
    r"|\bapproved\s+(?:the|this|that|it|all|by)\b"
    r"|\bauthori[sz]ed\s+(?:the|this|that|it|all|by)\b"
    r"|\bapproval[\s_]*(?:status)?\s*(?:[:=]|was|is|has\s+been)?\s*"
    r"(?:granted|received|given|complete|approved|waived|not\s+(?:needed|required))"
    r"|\bno\s+(?:further\s+)?(?:approval|review|confirmation)\b"
    r"|\bpermission\s+(?:is\s+|was\s+)?granted\b"
    r"|\b(?:i|we)\s+(?:hereby\s+)?(?:approve|authori[sz]e)\b"
    r"|\bon\s+(?:my|our)\s+authority\b",
    re.IGNORECASE,
)
# "Send nothing before it is approved" claims nothing.
_CONDITION: Final = re.compile(
    r"\b(?:before|until|unless|if|when|once|whether|not|never|after|should|must|may"
    r"|will|would|can|could|needs?|n't)\W+(?:\w+\W+){0,3}$",
    re.IGNORECASE,
)
_BEFORE: Final = 60  # characters


def suspicions(text: str) -> tuple[Suspicion, ...]:
    """What the text reads like, in alphabetical order; nothing for plain talk.

    Compatibility forms, unseen characters and wide gaps hide nothing from it.
    """
    looked_at = text[:LONGEST]
    plain = _plain(looked_at)
    found: list[Suspicion] = []
    if any(_claims(plain, match.start()) for match in _AUTHORITY.finditer(plain)):
        found.append("authority")
    if not _HIDES.isdisjoint(findings(looked_at)):
        found.append("disguise")
    if _INSTRUCTION.search(plain):
        found.append("instruction")
    return tuple(found)


def _plain(text: str) -> str:
    """The text as it is searched. Over wide gaps a search would take cubic time."""
    seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    return _GAP.sub(" ", seen)


def _claims(text: str, at: int) -> bool:
    """Whether what is said there is said to be so, and not to be waited for."""
    return not _CONDITION.search(text[max(at - _BEFORE, 0) : at])
