"""What is said of a text that tries to be more than text, in words of ours alone."""

from collections.abc import Iterable, Mapping
from typing import Final

from kernel.suspicion import suspicions

LOOKED_AT: Final = 4_000  # characters: no page shows more of one item
_WORDS: Final[Mapping[str, str]] = {
    "authority": "claims an approval",
    "disguise": "hides characters",
    "instruction": "reads like an instruction",
}
_TALK: Final = frozenset({"user", "model", "reviewer"})


def quarantine_words(flags: Iterable[str]) -> str:
    """ "Quarantined: claims an approval, reads like an instruction", or nothing."""
    said = ", ".join(_WORDS.get(flag, flag) for flag in flags)
    return f"Quarantined: {said}" if said else ""


def suspected(text: str, source: str) -> tuple[str, ...]:
    """What a text of that provenance is quarantined for, as the context does.

    People and models instruct; what a tool brings in from outside must not.
    """
    talks = source in _TALK
    found = suspicions(text[:LOOKED_AT])
    return tuple(one for one in found if one != "instruction" or not talks)
