"""Alike requests of little risk stand behind the first of them; none is left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from approvals.pages.index import Entry, Index
from approvals.pages.selection import Selection

FEWEST: Final = 3  # requests that are folded into one
SHOWN: Final = 5  # of a fold, besides its first; a link leads to all of them
FOLDED: Final = frozenset({"low", "medium"})  # what could do harm is read one by one


@dataclass(frozen=True, slots=True)
class Fold:
    """The first of some alike requests, and those that follow it in the list's order."""

    first: Entry
    others: tuple[Entry, ...] = ()

    def __len__(self) -> int:
        return 1 + len(self.others)

    def rows(self, current: UUID | None) -> tuple[Entry, ...]:
        """Those that are drawn: the first few, and the one that is open."""
        further = (entry for entry in self.others[SHOWN:] if entry.id == current)
        return (self.first, *self.others[:SHOWN], *further)


def folded(entries: Sequence[Entry], selection: Selection) -> list[Fold]:
    """Each request once, by the place of the first of its kind."""
    if selection.alike:
        return [Fold(entry) for entry in entries]
    kinds: dict[object, list[Entry]] = {}
    for entry in entries:
        kinds.setdefault(_kind(entry), []).append(entry)
    few = {kind for kind, these in kinds.items() if len(these) < FEWEST}
    found = []
    for entry in entries:
        kind = _kind(entry)
        if kind in few:
            found.append(Fold(entry))
        elif kinds[kind][0] is entry:
            found.append(Fold(entry, tuple(kinds[kind][1:])))
    return found


def in_order(index: Index, selection: Selection) -> list[Entry]:
    """All of a selection, as one comes to them on the page."""
    return in_reading_order(folded(index.of(selection), selection))


def in_reading_order(folds: Iterable[Fold]) -> list[Entry]:
    """As one comes to them on the page: a fold's own ones after its first."""
    return [entry for fold in folds for entry in (fold.first, *fold.others)]


def _kind(entry: Entry) -> object:
    return (entry.shape, entry.risk) if entry.risk in FOLDED else entry.id
