"""A state machine as a picture, laid out by one rule.

A stage stands one step after the last of the stages that lead to it; ways back are left
out of that count, and drawn beside. Steps lead to the right, or down where there is no
room for that. Units are SVG's user units.
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
BELOW: Final = 26  # for each way that is drawn beside
MOST_ACROSS: Final = 1_200  # wider ones could not be read on any screen

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
    down: bool

    @property
    def wide(self) -> bool:
        return self.width > MOST_ACROSS


def draw(
    stages: Stages, *, initial: str = "", current: str = "", down: bool = False
) -> Diagram | None:
    """The picture; None for a workflow without stages."""
    if not stages:
        return None
    start = initial or next(iter(stages))
    back = set(_ways_back(stages, start))
    ranks = _ranks(stages, start, back)
    places = _places(stages, ranks, down)
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
    beside = sorted(way for way in _ways(stages) if way in back or _long(ranks, way))
    right = max(x for x, _ in places.values()) + WIDTH
    lower = max(y for _, y in places.values()) + HEIGHT
    edge = (right if down else lower) + (MARGIN + BELOW) // 2
    lanes = {way: edge + BELOW * at for at, way in enumerate(beside)}
    return Diagram(
        width=right + MARGIN + (BELOW * len(beside) if down else 0),
        height=lower + MARGIN + (0 if down else BELOW * len(beside)),
        nodes=nodes,
        lines=tuple(
            Line(d=_path(places, way, lanes.get(way), down), back=way in back)
            for way in _ways(stages)
        ),
        down=down,
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


def _places(
    stages: Stages, ranks: Mapping[str, int], down: bool
) -> dict[str, tuple[int, int]]:
    ordered = sorted(stages, key=lambda stage: ranks[stage])
    return {
        stage: _place(row, rank, GAP_Y, GAP_Y)
        if down
        else _place(rank, row, GAP_X, GAP_Y)
        for rank, beside in groupby(ordered, key=lambda stage: ranks[stage])
        for row, stage in enumerate(beside)
    }


def _place(column: int, row: int, gap_x: int, gap_y: int) -> tuple[int, int]:
    return MARGIN + column * (WIDTH + gap_x), MARGIN + row * (HEIGHT + gap_y)


def _long(ranks: Mapping[str, int], way: Way) -> bool:
    """Whether a way would run over a stage that stands between."""
    return ranks[way[1]] - ranks[way[0]] > 1


def _path(
    places: Mapping[str, tuple[int, int]], way: Way, lane: int | None, down: bool
) -> str:
    """Straight to the next stage; or out, along a lane beside all stages, and in."""
    (x, y), (to_x, to_y) = places[way[0]], places[way[1]]
    if lane is None:
        return _downward(x, y, to_x, to_y) if down else _onward(x, y, to_x, to_y)
    if down:
        start, end = y + HEIGHT * 2 // 3, to_y + HEIGHT // 3
        return f"M{x + WIDTH} {start}H{lane}V{end}H{to_x + WIDTH + 2}"
    start, end = x + WIDTH * 2 // 3, to_x + WIDTH // 3
    return f"M{start} {y + HEIGHT}V{lane}H{end}V{to_y + HEIGHT + 2}"


def _onward(x: int, y: int, to_x: int, to_y: int) -> str:
    start, end = (x + WIDTH, y + HEIGHT // 2), (to_x - 2, to_y + HEIGHT // 2)
    bend = (end[0] - start[0]) // 2
    return (
        f"M{start[0]} {start[1]}C{start[0] + bend} {start[1]}"
        f" {end[0] - bend} {end[1]} {end[0]} {end[1]}"
    )


def _downward(x: int, y: int, to_x: int, to_y: int) -> str:
    start, end = (x + WIDTH // 2, y + HEIGHT), (to_x + WIDTH // 2, to_y - 2)
    bend = (end[1] - start[1]) // 2
    return (
        f"M{start[0]} {start[1]}C{start[0]} {start[1] + bend}"
        f" {end[0]} {end[1] - bend} {end[0]} {end[1]}"
    )
