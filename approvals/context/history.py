"""Steps four and five: what the history still earns, and which observations are current."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from approvals.context.groups import Group, Placed, grouped, observed
from approvals.context.items import Entry, Form
from approvals.context.pieces import Dropped
from approvals.context.records import Relevant
from approvals.context.stored import StandingSummary

MOST_OBSERVATIONS: Final = 8

ELSEWHERE: Final = "another run's work in progress"
COMPACTED: Final = "stands in the provider's own compaction"
SUPERSEDED: Final = "a newer result of the same call is there"
ORPHAN: Final = "the call that it answers is not there"
WAITS: Final = "it waits for its result, and is told of as a pending call"
TOO_LARGE: Final = "too large to be looked through"
OPAQUE: Final = "another provider's machine state"
CHANGED: Final = "what it was made of has changed"
NOT_HONOURED: Final = "it would part a call from its result: the history stays whole"


@dataclass(frozen=True, kw_only=True)
class History:
    """What may be shown of the history, oldest first; `first` to be kept come first.

    `urgent` are the groups to keep before all others: the newest instruction of a
    person, then the current observations, newest first.
    """

    groups: tuple[Group, ...]
    pending: tuple[Placed, ...]
    dropped: tuple[Dropped, ...]
    older_than: int | None
    summary: StandingSummary | None
    urgent: tuple[Group, ...] = ()

    @property
    def called(self) -> list[str]:
        """The tools that were called lately, and those whose calls wait."""
        recent = [call.name for group in self.groups for call in group.calls]
        return [one.part.name for one in self.pending] + recent[-20:]


def reduce_history(relevant: Relevant, form: Form | None) -> History:
    """Step 4: remove what no longer earns its space.

    What is too long even so is summarised when the budget is known (step 7). `form` is
    the provider whose compaction can be used; None for none.
    """
    entries, compacted, refused = _since_compaction(relevant.entries, form)
    talk = grouped(entries)
    dropped = [*ranges("item", relevant.elsewhere, ELSEWHERE), *compacted, *refused]
    dropped += [_too_large(*one) for one in relevant.left_out]
    dropped += [_lone(one, ORPHAN) for one in talk.orphans]
    dropped += [_lone(one, WAITS) for one in talk.pending]
    summary = relevant.summary
    if summary is not None and not summary.stands:
        key = f"summary:{summary.summary.id}"
        dropped.append(Dropped(key=key, kind="summary", why=CHANGED))
        summary = None
    first = relevant.entries[0].position if relevant.entries else None
    return History(
        groups=talk.groups,
        pending=_all_pending(relevant.entries, talk.pending),
        dropped=tuple(dropped),
        older_than=first if relevant.older else None,
        summary=summary,
    )


def attach_observations(history: History) -> History:
    """Step 5: the newest result of each call; what it replaces is not replayed."""
    newest = _newest(history.groups)
    kept: list[Group] = []
    superseded: list[Group] = []
    for group in history.groups:
        stale = group.is_observation and all(
            newest[observed(call)] is not group for call in group.calls
        )
        (superseded if stale else kept).append(group)
    positions = [entry.position for group in superseded for entry in group.entries]
    current = [one for one in kept if one.is_observation and not one.is_quarantined]
    return replace(
        history,
        groups=tuple(kept),
        dropped=(*history.dropped, *ranges("item", positions, SUPERSEDED)),
        urgent=(*_instruction(kept), *current[: -MOST_OBSERVATIONS - 1 : -1]),
    )


def _newest(groups: tuple[Group, ...]) -> Mapping[str, Group]:
    """Of each call that has an answer, the last group that makes it."""
    return {observed(call): group for group in groups for call in group.calls}


def _instruction(groups: list[Group]) -> list[Group]:
    """The newest thing that a person said."""
    for group in reversed(groups):
        if any(entry.is_from("user") for entry in group.entries):
            return [group]
    return []


def _since_compaction(
    entries: tuple[Entry, ...], form: Form | None
) -> tuple[tuple[Entry, ...], list[Dropped], list[Dropped]]:
    """The items from the newest compaction on, if it parts no call from its result.

    It is checked before it is used, and after: what waits before it is told of by the
    typed state, and if it would part a pair it is left out and the history stays.
    """
    places = [at for at, one in enumerate(entries) if one.has("compaction")]
    usable = [at for at in places if form in entries[at].forms]
    newest = usable[-1] if usable else None
    if newest is not None and _parts_a_pair(entries, newest):
        lone = [entries[at] for at in places]
        return _but(entries, places), [], [_entry(one, NOT_HONOURED) for one in lone]
    if newest is None:
        return _but(entries, places), [], [_entry(entries[at], OPAQUE) for at in places]
    before = [one.position for one in entries[:newest]]
    return entries[newest:], ranges("item", before, COMPACTED), []


def _but(entries: tuple[Entry, ...], places: list[int]) -> tuple[Entry, ...]:
    return tuple(one for at, one in enumerate(entries) if at not in places)


def _parts_a_pair(entries: tuple[Entry, ...], place: int) -> bool:
    """Whether a group reaches over the compaction, or a result after it is left alone."""
    border = entries[place].position
    talk = grouped(_but(entries, [place]))
    return any(group.first < border < group.last for group in talk.groups)


def _all_pending(
    entries: tuple[Entry, ...], found: tuple[Placed, ...]
) -> tuple[Placed, ...]:
    """Also those that a compaction has taken out of sight."""
    known = {id(one.part) for one in found}
    hidden = [one for one in grouped(entries).pending if id(one.part) not in known]
    return (*hidden, *found)


def _entry(entry: Entry, why: str) -> Dropped:
    return Dropped(key=entry.key, kind="compaction", why=why)


def _too_large(position: int, size: int) -> Dropped:
    why = f"{TOO_LARGE}: {size:,} bytes"
    return Dropped(key=f"item:{position}", kind="item", why=why)


def _lone(placed: Placed, why: str) -> Dropped:
    return Dropped(key=placed.entry.key, kind=placed.part.kind, why=why)


def ranges(
    kind: str, positions: list[int] | tuple[int, ...], why: str
) -> list[Dropped]:
    """Neighbours that go for the same reason are told of together."""
    found: list[list[int]] = []
    for position in sorted(positions):
        if found and found[-1][1] == position - 1:
            found[-1][1] = position
        else:
            found.append([position, position])
    return [
        Dropped(
            key=f"item:{first}",
            kind=kind,
            why=why,
            last=f"item:{last}" if last > first else "",
        )
        for first, last in found
    ]
