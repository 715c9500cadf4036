"""Which items belong together: calls with their results, reasoning with what it led to.

A group is a stretch of items that is kept whole or left out whole. What has lost its
other half (a call that waits, a result whose call is gone) is named, and left out by
itself: what waits is told of by the typed state instead.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from approvals.context.items import Entry, Part


@dataclass(frozen=True, slots=True)
class Placed:
    """A part, and the item that it is of."""

    entry: Entry
    part: Part


@dataclass(frozen=True, kw_only=True)
class Group:
    """Items in order. `without` are the parts that are left out of them."""

    entries: tuple[Entry, ...]
    without: frozenset[tuple[int, int]] = frozenset()  # (position, index of the part)

    @property
    def first(self) -> int:
        return self.entries[0].position

    @property
    def last(self) -> int:
        return self.entries[-1].position

    def parts(self, entry: Entry) -> list[Part]:
        """Those of an item's parts that may be shown."""
        return [
            part
            for index, part in enumerate(entry.parts)
            if (entry.position, index) not in self.without
        ]

    def is_whole(self, entry: Entry) -> bool:
        return len(self.parts(entry)) == len(entry.parts)

    @property
    def placed(self) -> list[Placed]:
        return [Placed(one, part) for one in self.entries for part in self.parts(one)]

    @property
    def calls(self) -> list[Part]:
        return [one.part for one in self.placed if one.part.kind == "call"]

    @property
    def is_quarantined(self) -> bool:
        return any(entry.flags for entry in self.entries)

    @property
    def is_observation(self) -> bool:
        """Nothing but calls, their results and the reasoning before them."""
        kinds = {one.part.kind for one in self.placed}
        return "result" in kinds and kinds <= {"call", "result", "reasoning"}


@dataclass(frozen=True, kw_only=True)
class Talk:
    """The whole history in groups, what waits in it, and what stands alone."""

    groups: tuple[Group, ...]
    pending: tuple[Placed, ...]
    orphans: tuple[Placed, ...]


def grouped(entries: Sequence[Entry]) -> Talk:
    """Cut the items, oldest first, into groups that must not be cut any further."""
    pairs, pending, orphans = _matched(entries)
    without = _without(entries, pending | orphans)
    spans = _merged(len(entries), [*pairs, *_reasoned(entries)])
    groups = (
        Group(entries=tuple(entries[first : last + 1]), without=without)
        for first, last in spans
    )
    return Talk(
        groups=tuple(group for group in groups if group.placed),
        pending=tuple(_place(entries, at) for at in sorted(pending)),
        orphans=tuple(_place(entries, at) for at in sorted(orphans)),
    )


def observed(part: Part) -> str:
    """What a call looks at: the same for the same tool and the same arguments."""
    return json.dumps([part.name, _canonical(part.arguments)], sort_keys=True)


type At = tuple[int, int]  # of an item among the items, and of a part in it


def _matched(
    entries: Sequence[Entry],
) -> tuple[list[tuple[int, int]], set[At], set[At]]:
    """Each result with the nearest call before it that has none yet."""
    waiting: dict[str, list[At]] = {}
    pairs: list[tuple[int, int]] = []
    orphans: set[At] = set()
    for place, entry in enumerate(entries):
        for index, part in enumerate(entry.parts):
            if part.kind == "call":
                waiting.setdefault(part.call, []).append((place, index))
            elif part.kind == "result" and waiting.get(part.call):
                pairs.append((waiting[part.call].pop()[0], place))
            elif part.kind == "result":
                orphans.add((place, index))
    return pairs, {at for calls in waiting.values() for at in calls}, orphans


def _companions(entries: Sequence[Entry], place: int) -> range:
    """The items that one answer of the model put after its reasoning."""
    end = place + 1
    while end < len(entries) and entries[end].is_reasoning:
        end += 1
    while end < len(entries) and _is_said(entries[end]):
        end += 1
    return range(place + 1, end)


def _is_said(entry: Entry) -> bool:
    """By the model itself, after it reasoned."""
    return entry.has("call") or entry.is_from("assistant") or _acted(entry)


def _acted(entry: Entry) -> bool:
    return isinstance(entry.value, dict) and str(entry.value.get("type", "")).endswith(
        "_call"
    )


def _reasoned(entries: Sequence[Entry]) -> list[tuple[int, int]]:
    return [
        (place, companions[-1])
        for place, entry in enumerate(entries)
        if entry.is_reasoning and (companions := _companions(entries, place))
    ]


def _without(entries: Sequence[Entry], alone: set[At]) -> frozenset[tuple[int, int]]:
    """The lone halves, and reasoning that nothing is left of."""
    gone = set(alone)
    for place, entry in enumerate(entries):
        indexes = {(place, index) for index in range(len(entry.parts))}
        kept = indexes - gone
        if (
            kept
            and kept != indexes
            and all(entry.parts[index].kind == "reasoning" for _, index in kept)
        ):
            gone |= kept
    for place in reversed(range(len(entries))):
        if entries[place].is_reasoning and _is_idle(entries, place, gone):
            gone |= {(place, index) for index in range(len(entries[place].parts))}
    return frozenset((entries[place].position, index) for place, index in gone)


def _is_idle(entries: Sequence[Entry], place: int, gone: set[At]) -> bool:
    return all(
        entries[other].is_reasoning or (other, index) in gone
        for other in _companions(entries, place)
        for index in range(len(entries[other].parts))
    )


def _merged(count: int, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches that overlap become one; every item is in exactly one of them."""
    reach = list(range(count))
    for first, last in spans:
        reach[first] = max(reach[first], last)
    found: list[tuple[int, int]] = []
    for place in range(count):
        if found and place <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], reach[place]))
        else:
            found.append((place, reach[place]))
    return found


def _place(entries: Sequence[Entry], at: At) -> Placed:
    place, index = at
    return Placed(entries[place], entries[place].parts[index])


def _canonical(arguments: Any) -> Any:
    """Arguments that mean the same; a text of JSON is what it says, if it can be read."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
