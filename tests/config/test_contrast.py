"""Contrast, computed from the tokens themselves: 4.5:1 for text, 3:1 for what means."""

import re
from pathlib import Path
from typing import Final

import pytest

TOKENS: Final = Path(__file__).resolve().parents[2] / "static" / "css" / "tokens.css"
PAIR: Final = re.compile(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);")
SAME: Final = re.compile(r"--([\w-]+): var\(--([\w-]+)\);")
PAPERS: Final = ("canvas", "surface", "surface-2", "sunken", "hover")
KINDS: Final = ("ok", "warn", "bad", "info", "mute")
ON_PAPER: Final = (
    *("ink", "ink-2", "ink-3", "accent", "accent-hover"),
    *("risk-low", "risk-medium", "risk-high", "risk-critical"),
    *(f"{kind}-fg" for kind in KINDS),
)
TEXTS: Final = (
    *((text, paper) for text in ON_PAPER for paper in PAPERS),
    *((f"{kind}-fg", f"{kind}-bg") for kind in KINDS),
    ("on-accent", "accent"),
    ("on-accent", "accent-hover"),
    ("ink", "accent-tint"),
    ("ink-3", "accent-tint"),
    ("risk-high", "risk-high-bg"),
    ("on-critical", "risk-critical-bg"),
    ("untrusted-fg", "hatch-bg"),
    ("ink", "hatch-bg"),
    ("codepoint-fg", "codepoint-bg"),
    ("add-fg", "add-bg"),
    ("del-fg", "del-bg"),
)
MEANT: Final = tuple(
    (line, paper)
    for line in ("line-3", "focus", "c-1", "c-2", "c-3", "c-4", "c-5")
    for paper in ("surface", "surface-2", "canvas")
)


def tokens() -> dict[str, tuple[str, str]]:
    """Each colour by its name, in both themes."""
    text = TOKENS.read_text()
    found = {name: (light, dark) for name, light, dark in PAIR.findall(text)}
    for name, other in SAME.findall(text):
        if other in found:
            found[name] = found[other]
    return found


def ratio(one: str, other: str) -> float:
    """As WCAG 2 defines it."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def low(pairs: tuple[tuple[str, str], ...], least: float) -> list[str]:
    known, found = tokens(), []
    for one, other in pairs:
        for theme, at in (("light", 0), ("dark", 1)):
            value = ratio(known[one][at], known[other][at])
            if value < least:
                found.append(f"{one} on {other}, {theme}: {value:.2f}")
    return found


def test_the_measure() -> None:
    assert ratio("#ffffff", "#000000") == pytest.approx(21)
    assert ratio("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_every_text_can_be_read() -> None:
    assert low(TEXTS, 4.5) == []


def test_every_line_that_means_something_can_be_seen() -> None:
    assert low(MEANT, 3) == []
