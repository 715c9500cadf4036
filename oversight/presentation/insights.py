"""Charts as plain values: what is drawn, and the table that says the same.

Units are SVG's user units; a chart is stretched to the width that it has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import log
from typing import Final

from approvals.presentation.shell import Empty

HIGH: Final = 240
SLOT: Final = 80  # width of a day
BAR: Final = 46
SHORTEST, LONGEST = 1.0, 7 * 86_400.0  # seconds, ends of the scale of durations


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number with what stands under it."""

    name: str
    value: str
    note: str = ""
    icon: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a day's bar. `series` counts from 1, and is its colour and hatching."""

    series: int
    x: int
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacked:
    """Bars by day; `rows` is the table: the day, then a number for each name."""

    names: tuple[tuple[str, int], ...]
    width: int
    blocks: tuple[Block, ...]
    scale: tuple[int, ...]
    days: tuple[date, ...]
    rows: tuple[tuple[date, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Two lines by day on a logarithmic scale, as `d` of paths, and their table."""

    width: int
    median: str
    slow: str
    days: tuple[date, ...]
    rows: tuple[tuple[date, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One horizontal bar; `share` of the longest, in percent."""

    name: str
    count: int
    share: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRow:
    """What one person decided. `hint` is set where nobody could have read so fast."""

    name: str
    decisions: int
    share: float
    approved: int  # percent
    reading: str
    hasty: int
    busiest: int  # the most approvals in one hour
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightsView:
    """In the context as `insights`; `empty` is set exactly when nothing was asked."""

    now: datetime
    title: str
    ranges: tuple[tuple[str, str, bool], ...]
    queues: tuple[tuple[str, str, bool], ...]
    figures: tuple[Figure, ...]
    outcomes: Stacked
    times: Lines
    ages: tuple[Bar, ...]
    refusals: tuple[Bar, ...]
    tools: tuple[Bar, ...]
    agents: tuple[Bar, ...]
    loads: tuple[LoadRow, ...]
    empty: Empty | None = None


def stacked(
    names: Sequence[str], days: Sequence[date], counts: Mapping[tuple[date, str], int]
) -> Stacked:
    """One bar a day, in the order of `names` from below."""
    rows = tuple((day, tuple(counts.get((day, n), 0) for n in names)) for day in days)
    top = _round_up(max((sum(row) for _, row in rows), default=0))
    return Stacked(
        names=tuple(
            (name, sum(row[i] for _, row in rows)) for i, name in enumerate(names)
        ),
        width=len(days) * SLOT,
        blocks=tuple(b for i, (_, row) in enumerate(rows) for b in _pile(i, row, top)),
        scale=tuple(top * part // 4 for part in (4, 3, 2, 1, 0)),
        days=tuple(days),
        rows=rows,
    )


def _pile(index: int, row: Sequence[int], top: int) -> list[Block]:
    found, below = [], 0.0
    for series, count in enumerate(row, start=1):
        if count:
            height = round(HIGH * count / top, 2)
            below += height
            x = index * SLOT + (SLOT - BAR) // 2
            found.append(Block(series, x, round(HIGH - below, 2), height))
    return found


def _round_up(most: int) -> int:
    """The end of a scale whose quarters are whole numbers."""
    step = 4
    while step < most:
        step = step * 2 if step % 3 else step * 4 // 3
    return step


def lines(
    days: Sequence[date],
    times: Mapping[date, tuple[float, float]],
    words: Mapping[date, tuple[str, str]],
) -> Lines:
    """Medians and 95th percentiles; a day without decisions interrupts the line."""
    return Lines(
        width=len(days) * SLOT,
        median=_path([times[day][0] if day in times else None for day in days]),
        slow=_path([times[day][1] if day in times else None for day in days]),
        days=tuple(days),
        rows=tuple((day, *words.get(day, ("", ""))) for day in days),
    )


def _path(values: Sequence[float | None]) -> str:
    found, pen_is_up = [], True
    for index, value in enumerate(values):
        if value is not None:
            at = f"{index * SLOT + SLOT // 2} {_height(value):.1f}"
            # A day between two without any is a dot: a line of almost no length.
            found.append(f"M{at}h.1" if pen_is_up else f"L{at}")
        pen_is_up = value is None
    return "".join(found)


def _height(seconds: float) -> float:
    held = min(max(seconds, SHORTEST), LONGEST)
    return HIGH * (1 - log(held / SHORTEST) / log(LONGEST / SHORTEST))


def bars(counts: Sequence[tuple[str, int, str]]) -> tuple[Bar, ...]:
    """(name, count, note), each beside the largest."""
    most = max((count for _, count, _ in counts), default=0) or 1
    return tuple(
        Bar(name=name, count=count, share=round(100 * count / most, 1), note=note)
        for name, count, note in counts
    )
