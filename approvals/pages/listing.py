"""The list: a page of a selection, what else there is, and why it may be empty."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from approvals.pages.addresses import address, short_name
from approvals.pages.decided import count_decided, decided_page
from approvals.pages.filters import alike_links, chips, filters
from approvals.pages.folding import Fold, folded
from approvals.pages.index import Entry, Index, page_of
from approvals.pages.rows import queue_rows
from approvals.pages.selection import RISKS, VIEWS, Selection
from approvals.pages.viewer import Viewer
from approvals.presentation.case import CaseView, Link
from approvals.presentation.queue import Facet, QueueRow, QueueView
from approvals.presentation.shell import Empty, Pages
from approvals.presentation.words import counted

PAGE: Final = 50  # rows; of alike ones the first
NOBODY_ASKS: Final = "An agent’s next request appears here by itself."
NO_QUEUE: Final = Empty(
    title="No queue is given to you",
    sentence="Requests are seen on the queues that one may view, and owning an agent is "
    "not enough. Ask an administrator for the right to view a queue.",
)


def queue_view(
    viewer: Viewer,
    selection: Selection,
    index: Index,
    now: datetime,
    *,
    heading: str,
    current: UUID | None = None,
    case: CaseView | None = None,
) -> QueueView:
    """The list of a `selection`, under its `heading`; around the open case if there is one."""
    slug = viewer.slug
    rows, pages = _page(viewer, selection, index, current)
    decided = _also_decided(viewer, selection)
    found = address("queue", slug, query=selection.among_decided.query)
    return QueueView(
        heading=heading,
        rows=rows,
        pages=pages,
        now=now,
        facets=_facets(slug, selection, index),
        filtered_by=chips(slug, selection),
        filters=filters(slug, selection, index),
        together_href=address("together", slug) if viewer.rights.get("decide") else "",
        undo=selection.view == "decided",
        kept=tuple(
            (name, value)
            for name, value in selection.first_page().query.items()
            if value
        ),
        empty=None if rows else _empty(viewer, selection, index, decided),
        decided=Link(text=counted(decided, "decided request"), href=found)
        if decided
        else None,
        case=case,
        case_label=short_name("REQ", current) if current else "",
    )


def _page(
    viewer: Viewer,
    selection: Selection,
    index: Index,
    current: UUID | None,
) -> tuple[tuple[QueueRow, ...], Pages]:
    slug, decides = viewer.slug, viewer.rights.get("decide", ())
    shown, total = 0, None
    if selection.view == "decided":
        ids, following = decided_page(viewer, selection, PAGE)
        rows = queue_rows(
            ids, slug=slug, selection=selection, current=current, decides=decides
        )
        shown = len(rows)
    else:
        found = index.of(selection)
        folds = {fold.first.id: fold for fold in folded(found, selection)}
        firsts = [fold.first for fold in folds.values()]
        page, following = page_of(firsts, selection, PAGE)
        on_page = [folds[entry.id] for entry in page]
        rows = _folded_rows(viewer, on_page, selection, found, current)
        shown, total = sum(map(len, on_page)), len(found)
    first = address("queue", slug, query=selection.first_page().query)
    return rows, Pages(
        shown=shown,
        total=total,
        previous_href=first if selection.after else "",
        next_href=_next(slug, selection, following),
    )


def _folded_rows(
    viewer: Viewer,
    folds: Sequence[Fold],
    selection: Selection,
    found: Sequence[Entry],
    current: UUID | None,
) -> tuple[QueueRow, ...]:
    """A row for each fold, with the rows of the others in it."""
    slug = viewer.slug
    alike = alike_links(slug, selection, found, [fold.first for fold in folds])
    ids = [entry.id for fold in folds for entry in fold.rows(current)]
    drawn = queue_rows(
        ids,
        slug=slug,
        selection=selection,
        current=current,
        alike=alike,
        behalf={entry.id: entry.behalf for entry in found},
        others=_of_others(viewer, found),
        decides=viewer.rights.get("decide", ()),
    )
    by_id = {row.id: row for row in drawn}
    return tuple(
        _with_others(by_id[str(fold.first.id)], len(fold), by_id, fold.rows(current))
        for fold in folds
        if str(fold.first.id) in by_id
    )


def _of_others(viewer: Viewer, found: Sequence[Entry]) -> set[UUID]:
    """What needs no key of the viewer's; said to nobody who has none to turn."""
    decides = bool(viewer.rights.get("decide"))
    return {one.id for one in found if decides and not one.mine and one.is_asked}


def _with_others(
    first: QueueRow, count: int, by_id: Mapping[str, QueueRow], shown: Sequence[Entry]
) -> QueueRow:
    others = [str(entry.id) for entry in shown[1:]]
    return replace(
        first,
        folded=tuple(by_id[id] for id in others if id in by_id),
        more=count - 1,
    )


def _next(slug: str, selection: Selection, following: str) -> str:
    if not following:
        return ""
    return address("queue", slug, query={**selection.query, "after": following})


def _facets(slug: str, selection: Selection, index: Index) -> tuple[Facet, ...]:
    """Counts by risk that add up to the view; pressed again, one lets go."""
    if selection.view == "decided":
        return ()
    counts = index.by("risk", selection)
    return tuple(
        Facet(
            value=risk,
            label=risk.capitalize(),
            count=counts[risk],
            href=_toggled(slug, selection, risk),
            current=risk == selection.risk,
        )
        for risk in RISKS
    )


def _toggled(slug: str, selection: Selection, risk: str) -> str:
    wanted = "" if risk == selection.risk else risk
    return address("queue", slug, query=selection.first_page(risk=wanted).query)


def _also_decided(viewer: Viewer, selection: Selection) -> int:
    """How many decided ones a search among the open ones would find as well."""
    if not selection.search or selection.view == "decided":
        return 0
    return count_decided(viewer, selection.among_decided)


def _empty(viewer: Viewer, selection: Selection, index: Index, decided: int) -> Empty:
    slug = viewer.slug
    if not viewer.sees and not viewer.membership.oversees:
        return NO_QUEUE
    if decided:
        return Empty(
            title="Nothing open matches",
            sentence=f"{counted(decided, 'decided request')} "
            f"{'does' if decided == 1 else 'do'}.",
            icon="filter",
            label="Show what was decided",
            href=address("queue", slug, query=selection.among_decided.query),
        )
    if selection.is_narrowed:
        return Empty(
            title="Nothing matches",
            sentence=f"{VIEWS[selection.view]}, without a filter, may hold more.",
            icon="filter",
            label="Remove every filter",
            href=address("queue", slug, query=Selection(view=selection.view).query),
        )
    waiting = index.counts()["all"]
    if selection.view == "all" or not waiting:
        return Empty(title=EMPTY_TITLES[selection.view], sentence=NOBODY_ASKS)
    return Empty(
        title=EMPTY_TITLES[selection.view],
        sentence=f"{waiting} open {'request waits' if waiting == 1 else 'requests wait'}.",
        label=f"Show {VIEWS['all'].lower()}",
        href=address("queue", slug),
    )


EMPTY_TITLES: Final = {
    "mine": "Nothing needs your key",
    "all": "No request is open",
    "soon": "Nothing expires within 1 hour",
    "changes": "No agent has been asked for changes",
    "snoozed": "You have put nothing aside",
    "decided": "Nothing has been decided yet",
}
