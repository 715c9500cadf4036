"""What a context is made of: pieces, each with its source, its worth and its cost."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kernel.problems import Problem
from kernel.suspicion import Suspicion, suspicions
from sessions.redaction import MOST_READ, redacted

BYTES_A_TOKEN: Final = 3
"""Fewer than the tokenizers of today take for prose and code: estimates are high."""


class Trust(StrEnum):
    """What a piece is worth. None of them grants anything."""

    RECORD = "record"  # Keyturn's own row
    STATED = "stated"  # a typed fact: its source is named, and the workflow takes it
    DERIVED = "derived"  # made out of other pieces
    UNTRUSTED = "untrusted"  # somebody's text, a model's inference
    QUARANTINED = "quarantined"  # text that tries to be more than text


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One thing that the model is shown.

    `key` names it within its run for ever ("fact:total@3", "item:12"). `text` is one
    line of ours, in which everything foreign is quoted. `required` pieces are the ones
    without which there is no context at all.
    """

    key: str
    kind: str
    provenance: str
    trust: Trust
    text: str
    why: str
    required: bool = False
    reference: str = ""
    flags: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        """Whether its line holds nobody's words but Keyturn's."""
        return self.trust is Trust.RECORD


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """What was left out. `last` is the end of a range of items that went together."""

    key: str
    kind: str
    why: str
    tokens: int = 0
    last: str = ""


def tokens_in(text: str) -> int:
    """An estimate that is rather too high than too low."""
    return math.ceil(len(text.encode(errors="surrogatepass")) / BYTES_A_TOKEN)


def json_of(value: Any) -> str:
    """JSON text, the same for the same value: ASCII, so that no half pair is lost."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def quoted(text: str, most: int = 400) -> str:
    """Foreign text inside a line of ours: it can neither end the line nor the quotes."""
    clean = str(without_secrets(text))
    if len(clean) > most:
        clean = f"{clean[:most]}… ({len(clean)} characters)"
    return json_of(clean)


def quoted_value(value: Any, most: int = 400) -> str:
    """A foreign JSON value as one line; a long one is cut, and says so."""
    if isinstance(value, str):
        return quoted(value, most)
    text = json.dumps(without_secrets(value), separators=(",", ":"))
    return text if len(text) <= most else quoted(text, most)


def without_secrets(value: Any) -> Any:
    """The value as it may be read; one that cannot be looked through is left out."""
    try:
        return redacted(value, most=MOST_READ)[0]
    except (Problem, RecursionError, ValueError, TypeError):
        return "[left out: it cannot be looked through]"


def trust_of(
    texts: Iterable[str], otherwise: Trust
) -> tuple[Trust, tuple[Suspicion, ...]]:
    """What texts are worth, and what they read like."""
    flags = sorted({flag for text in texts for flag in suspicions(text)})
    return (Trust.QUARANTINED if flags else otherwise), tuple(flags)


def texts_in(value: Any) -> Iterable[str]:
    """Every text inside a JSON value, its keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inside in value.items():
            yield str(key)
            yield from texts_in(inside)
    elif isinstance(value, list | tuple):
        for inside in value:
            yield from texts_in(inside)
