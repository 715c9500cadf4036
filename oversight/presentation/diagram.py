"""A state machine as a picture, laid out by one rule.

A stage stands one column to the right of the last of the stages that lead to it; ways
back are left out of that count, and drawn beneath. Units are SVG's user units.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

WIDTH: Final = 156
HEIGHT: Final = 44
GAP_X: Final = 56
GAP_Y: Final = 28
MARGIN: Final = 20
BELOW: Final = 26  # for each way that is drawn beneath

type Stages = Mapping[str, Sequence[str]]
type Way = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One stage, with its upper left corner. `last` has no way on."""

    name: str
    shown: str
    x: int
    y: int
    initial: bool
    last: bool
    current: bool

    @property
    def middle(self) -> tuple[int, int]:
        return self.x + WIDTH // 2, self.y + HEIGHT // 2 + 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One way, as the `d` of an SVG path; `back` leads to where one has been."""

    d: str
    back: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """What is drawn, and how large."""

    width: int
    height: int
    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]


def draw(stages: Stages, *, initial: str = "", current: str = "") -> Diagram | None:
    """The picture; None for a workflow without stages."""
    if not stages:
        return None
    start = initial or next(iter(stages))
    back = set(_ways_back(stages, start))
    places = _places(stages, _ranks(stages, start, back))
    nodes = tuple(
        Node(
            name=name,
            shown=name if len(name) <= 20 else f"{name[:19]}…",
            x=x,
            y=y,
            initial=name == initial,
            last=not stages[name],
            current=name == current,
        )
        for name, (x, y) in places.items()
    )
    lower = max(y for _, y in places.values()) + HEIGHT
    beneath = sorted(way for way in _ways(stages) if way in back or _long(places, way))
    lines = tuple(_line(places, way, beneath, lower, back) for way in _ways(stages))
    return Diagram(
        width=max(x for x, _ in places.values()) + WIDTH + MARGIN,
        height=lower + MARGIN + BELOW * len(beneath),
        nodes=nodes,
        lines=lines,
    )


def _ways(stages: Stages) -> Iterator[Way]:
    for stage, following in stages.items():
        yield from ((stage, to) for to in following)


def _ways_back(stages: Stages, start: str) -> Iterator[Way]:
    """Found by walking from the start: what leads to a stage one stands in already."""
    seen: set[str] = set()
    for root in (start, *stages):
        open_ways = [(root, iter(stages[root]))] if root not in seen else []
        standing = {root}
        while open_ways:
            seen.add(open_ways[-1][0])
            stage, following = open_ways[-1]
            to = next(following, None)
            if to is None:
                open_ways.pop()
                standing.discard(stage)
            elif to in standing:
                yield stage, to
            elif to not in seen:
                standing.add(to)
                open_ways.append((to, iter(stages[to])))


def _ranks(stages: Stages, start: str, back: set[Way]) -> dict[str, int]:
    """The column of each stage: after the longest way that leads there."""
    ranks = dict.fromkeys(stages, 0)
    for _ in stages:
        for stage, to in _ways(stages):
            if (stage, to) not in back:
                ranks[to] = max(ranks[to], ranks[stage] + 1)
    return ranks


def _places(stages: Stages, ranks: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    ordered = sorted(stages, key=lambda stage: ranks[stage])
    return {
        stage: (
            MARGIN + rank * (WIDTH + GAP_X),
            MARGIN + row * (HEIGHT + GAP_Y),
        )
        for rank, column in groupby(ordered, key=lambda stage: ranks[stage])
        for row, stage in enumerate(column)
    }


def _long(places: Mapping[str, tuple[int, int]], way: Way) -> bool:
    """Whether a way would run over a stage that stands between."""
    (x, _), (to_x, _) = places[way[0]], places[way[1]]
    return to_x - x > WIDTH + GAP_X


def _line(
    places: Mapping[str, tuple[int, int]],
    way: Way,
    beneath: Sequence[Way],
    lower: int,
    back: set[Way],
) -> Line:
    (x, y), (to_x, to_y) = places[way[0]], places[way[1]]
    if way not in beneath:
        start, end = (x + WIDTH, y + HEIGHT // 2), (to_x - 2, to_y + HEIGHT // 2)
        bend = (end[0] - start[0]) // 2
        d = (
            f"M{start[0]} {start[1]}C{start[0] + bend} {start[1]}"
            f" {end[0] - bend} {end[1]} {end[0]} {end[1]}"
        )
        return Line(d=d, back=False)
    depth = lower + MARGIN // 2 + BELOW * beneath.index(way) + BELOW // 2
    start_x, end_x = x + WIDTH * 2 // 3, to_x + WIDTH // 3
    d = f"M{start_x} {y + HEIGHT}V{depth}H{end_x}V{to_y + HEIGHT + 2}"
    return Line(d=d, back=way in back)
