"""How an action came about, as a graph with time from left to right.

One rule lays it out. Parts are taken in the order of time; each stands in its lane, in
the column of the part before it, unless that place is taken or it follows from what
stands there: then in the next column. An edge takes whichever of four ways crosses the
fewest parts. Units are SVG's user units.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from approvals.presentation.words import span
from kernel.visible import single_line
from oversight.presentation.run import FactChange

LANES: Final = ("Session", "State", "Model", "Request", "People", "Checks", "Outside")
WIDTH: Final = 136
HEIGHT: Final = 46
PITCH: Final = 164  # from one column to the next
RISE: Final = 62  # from one lane to the next
LEFT: Final = 80  # for the lanes' names
NAMES: Final = LEFT - 4  # which stay in sight; parts' frames are not cut there
TOP: Final = 10
BELOW: Final = 56  # for the axis
TALL_X: Final = 81
TALL_WIDTH: Final = 250
TALL_RISE: Final = 66
LONGEST: Final = 14  # characters that fit into a part
TALL_LONGEST: Final = 28
NUMBER: Final = re.compile(r"\W?\d{1,8}\Z")
MOST_ACROSS: Final = 1_100
A_GAP: Final = timedelta(minutes=2)  # more than this is time left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One thing that counted: `key` names it, `after` names what it follows from.

    `tone` is '', key (it carries authority), ok, bad or derived. `told` says in a
    sentence what proves it; `theirs`: the note is an agent's own word. `facts` are those
    that it stated.
    """

    key: str
    lane: str
    at: datetime
    icon: str
    label: str
    note: str
    href: str
    told: str = ""
    tone: str = ""
    after: tuple[str, ...] = ()
    theirs: bool = False
    facts: tuple[FactChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part stands: its upper left corner, and its lane and column."""

    part: Part
    column: int
    lane: int

    @property
    def x(self) -> int:
        return LEFT + self.column * PITCH

    @property
    def y(self) -> int:
        return TOP + self.lane * RISE

    @property
    def middle(self) -> tuple[int, int]:
        return self.x + WIDTH // 2, self.y + HEIGHT // 2

    @property
    def text_x(self) -> int:
        return self.x + 32

    @property
    def icon_x(self) -> int:
        return self.x + 8

    @property
    def icon_y(self) -> int:
        return self.y + 15

    @property
    def first_line(self) -> int:
        return self.y + 20

    @property
    def second_line(self) -> int:
        return self.y + 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """The `d` of an SVG path; `key` where it carries authority."""

    d: str
    key: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A column's time, and how much was left out before it."""

    x: int
    at: datetime
    gap_x: int
    gap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The same part in the picture for narrow screens, one under another."""

    part: Part
    y: int
    gap: str

    @property
    def middle(self) -> int:
        return self.y + HEIGHT // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """What is drawn, and how large: across, and downwards in `steps`."""

    width: int
    height: int
    axis: int
    places: tuple[Place, ...]
    edges: tuple[Edge, ...]
    ticks: tuple[Tick, ...]
    lanes: tuple[tuple[str, int], ...]
    steps: tuple[Step, ...]
    tall_height: int

    @property
    def names(self) -> int:
        """The width of the lanes' names, which are a picture of their own."""
        return NAMES

    @property
    def across(self) -> int:
        """That of the rest."""
        return self.width - NAMES

    @property
    def is_long(self) -> bool:
        """Wider than most screens: then its end, the outcome, is shown first."""
        return self.width > MOST_ACROSS


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """One request in a sentence or two, as the template puts them together.

    `title` is the agent's unless `title_is_ours`, and `served` is always; `answers` are
    what somebody did, and when; `outcome` ends with `known_as`, where it has that name.
    """

    title: str
    title_is_ours: bool
    agent: str
    served: str
    policies: str
    answers: tuple[tuple[str, datetime], ...]
    outcome: str
    known_as: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceView:
    """In the context as `trace`. `left_out` counts older parts that are not shown."""

    label: str
    title: str
    now: datetime
    run_href: str
    state_href: str
    json_href: str
    agentack_href: str
    bundle_href: str  # empty for who may not read the audit log
    verifier_href: str
    elsewhere_href: str  # what the bundle is checked with
    rights: tuple[tuple[str, str], ...]  # requests, and who could have approved them
    answer: str  # before `whys`, where one request does not say it all
    whys: tuple[Why, ...]
    graph: Graph
    parts: tuple[Part, ...]
    left_out: int = 0
    choices: tuple[tuple[str, str, bool], ...] = field(default_factory=tuple)


def draw_trace(parts: Sequence[Part]) -> Graph:
    """The picture of `parts`, which are in the order of time, cut where they must be."""
    places = _placed([_short(part, LONGEST) for part in parts])
    columns = max((place.column for place in places), default=0) + 1
    axis = TOP + len(LANES) * RISE
    return Graph(
        width=LEFT + columns * PITCH,
        height=axis + BELOW,
        axis=axis,
        places=places,
        edges=tuple(_edges(places)),
        ticks=tuple(_ticks(places)),
        lanes=tuple((name, TOP + n * RISE + 27) for n, name in enumerate(LANES)),
        steps=tuple(_steps([_short(part, TALL_LONGEST) for part in parts])),
        tall_height=len(parts) * TALL_RISE + 2 * TOP,
    )


def _short(part: Part, most: int) -> Part:
    return replace(part, label=cut(part.label, most), note=cut(part.note, most))


def cut(text: str, most: int) -> str:
    """At most `most` characters. A number at the end, which tells one from others of
    its kind, is kept."""
    plain = single_line(text)
    if len(plain) <= most:
        return plain
    number = NUMBER.search(plain)
    end = number[0] if number else ""
    return f"{plain[: most - 1 - len(end)]}…{end}"


def _placed(parts: Sequence[Part]) -> tuple[Place, ...]:
    found: dict[str, Place] = {}
    taken: set[tuple[int, int]] = set()
    column = 0
    for part in parts:
        lane = LANES.index(part.lane)
        behind = [found[key].column + 1 for key in part.after if key in found]
        column = max([column, *behind])
        if (column, lane) in taken:
            column += 1
        taken.add((column, lane))
        found[part.key] = Place(part, column, lane)
    return tuple(found.values())


def _edges(places: Sequence[Place]) -> Iterator[Edge]:
    by_key = {place.part.key: place for place in places}
    taken = {(place.column, place.lane) for place in places}
    for place in places:
        for key in place.part.after:
            if key in by_key:
                yield _edge(by_key[key], place, taken)


def _edge(start: Place, end: Place, taken: set[tuple[int, int]]) -> Edge:
    carries = {"key", "ok", "bad"}
    key = start.part.tone in carries and end.part.tone in carries
    ways = _ways(start, end)
    best = min(ways, key=lambda way: len(way[1] & taken))
    return Edge(d=best[0], key=key)


def _ways(start: Place, end: Place) -> list[tuple[str, set[tuple[int, int]]]]:
    """Each way as a path, with the places that it would cross."""
    (_, sy), (ex, ey) = start.middle, end.middle
    sx, tx = start.x + WIDTH, end.x  # where it leaves, and where it arrives
    if start.lane == end.lane:
        across = _row(start.lane, start.column + 1, end.column)
        return [(f"M{sx} {sy}H{tx - 2}", across)]
    down = 1 if ey > sy else -1
    edge_y = end.y - 2 if down > 0 else end.y + HEIGHT + 2
    lanes = range(*sorted((start.lane + down, end.lane)))
    over = {(end.column, lane) for lane in lanes if lane not in {start.lane, end.lane}}
    corner = f"M{sx} {sy}H{ex - 8}Q{ex} {sy} {ex} {sy + 8 * down}V{edge_y}"
    near = _through(sx, sy, sx + (PITCH - WIDTH) // 2, ey, tx, down)
    far = _through(sx, sy, tx - (PITCH - WIDTH) // 2, ey, tx, down)
    return [
        (corner, _row(start.lane, start.column + 1, end.column + 1) | over),
        (far, _row(start.lane, start.column + 1, end.column)),
        (near, _row(end.lane, start.column + 1, end.column)),
    ]


def _through(sx: int, sy: int, gutter: int, ey: int, tx: int, down: int) -> str:
    """Right to the gutter, along it, and right again."""
    turn = f"H{gutter - 6}Q{gutter} {sy} {gutter} {sy + 6 * down}"
    return f"M{sx} {sy}{turn}V{ey - 6 * down}Q{gutter} {ey} {gutter + 6} {ey}H{tx - 2}"


def _row(lane: int, first: int, end: int) -> set[tuple[int, int]]:
    return {(column, lane) for column in range(first, end)}


def _ticks(places: Sequence[Place]) -> Iterator[Tick]:
    """One for each column, at the time of what stands there first."""
    firsts: dict[int, Place] = {}
    for place in places:
        firsts.setdefault(place.column, place)
    before: Place | None = None
    for place in firsts.values():
        gap = _gap(before.part.at if before else None, place.part.at)
        yield Tick(
            x=place.middle[0],
            at=place.part.at,
            gap_x=place.x - (PITCH - WIDTH) // 2,
            gap=gap,
        )
        before = place


def _gap(before: datetime | None, at: datetime) -> str:
    if before is None or at - before < A_GAP:
        return ""
    return span(at - before)


def _steps(parts: Sequence[Part]) -> Iterator[Step]:
    if parts:
        yield Step(part=parts[0], y=TOP, gap="")
    for number, (before, part) in enumerate(pairwise(parts), start=1):
        gap = _gap(before.at, part.at)
        yield Step(part=part, y=TOP + number * TALL_RISE, gap=gap)
