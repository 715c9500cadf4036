"""The list: a page of a selection, what else there is, and why it may be empty."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from approvals.pages.addresses import address
from approvals.pages.decided import count_decided, decided_page
from approvals.pages.index import Entry, Index, page_of
from approvals.pages.rows import queue_rows
from approvals.pages.selection import RISKS, VIEWS, Selection
from approvals.pages.viewer import Viewer
from approvals.presentation.case import CaseView, Link
from approvals.presentation.queue import Facet, QueueRow, QueueView
from approvals.presentation.shell import Empty, Pages
from approvals.presentation.words import counted

PAGE: Final = 50  # rows
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
    current: UUID | None = None,
    case: CaseView | None = None,
) -> QueueView:
    """The list that `selection` names, around the open case if there is one."""
    slug = viewer.slug
    rows, pages = _page(viewer, selection, index, current)
    decided = _also_decided(viewer, selection)
    found = address("queue", slug, query=selection.first_page(view="decided").query)
    here = "case" if current else "queue"
    return QueueView(
        heading=selection.heading,
        rows=rows,
        pages=pages,
        now=now,
        rows_href=address(here, slug, current, query=selection.query),
        facets=_facets(slug, selection, index),
        filtered_by=_filters(slug, selection),
        empty=None if rows else _empty(viewer, selection, index, decided),
        decided=Link(text=counted(decided, "decided request"), href=found)
        if decided
        else None,
        case=case,
    )


def _page(
    viewer: Viewer,
    selection: Selection,
    index: Index,
    current: UUID | None,
) -> tuple[tuple[QueueRow, ...], Pages]:
    slug = viewer.slug
    if selection.view == "decided":
        ids, following = decided_page(viewer, selection, PAGE)
        total = None
    else:
        found = index.of(selection)
        ids, following = _open_page(found, selection)
        total = len(found)
    rows = queue_rows(ids, slug=slug, selection=selection, current=current)
    first = address("queue", slug, query=selection.first_page().query)
    return rows, Pages(
        shown=len(rows),
        total=total,
        previous_href=first if selection.after else "",
        next_href=_next(slug, selection, following),
    )


def _open_page(found: Sequence[Entry], selection: Selection) -> tuple[list[UUID], str]:
    page, more = page_of(found, selection.after, PAGE)
    return [entry.id for entry in page], page[-1].cursor if more else ""


def _next(slug: str, selection: Selection, following: str) -> str:
    if not following:
        return ""
    return address("queue", slug, query={**selection.query, "after": following})


def _facets(slug: str, selection: Selection, index: Index) -> tuple[Facet, ...]:
    """Counts by risk that add up to the view; pressed again, one lets go."""
    if selection.view == "decided":
        return ()
    counts = index.risks(selection.view)
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


def _filters(slug: str, selection: Selection) -> tuple[Facet, ...]:
    """What narrows the list; following one takes it away."""
    narrowing = {"risk": f"{selection.risk} risk", "search": f"“{selection.search}”"}
    return tuple(
        Facet(
            value=name,
            label=label,
            count=0,
            href=address("queue", slug, query=selection.first_page(**{name: ""}).query),
        )
        for name, label in narrowing.items()
        if getattr(selection, name)
    )


def _also_decided(viewer: Viewer, selection: Selection) -> int:
    """How many decided ones a search among the open ones would find as well."""
    if not selection.search or selection.view == "decided":
        return 0
    return count_decided(viewer, selection)


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
            href=address(
                "queue", slug, query=selection.first_page(view="decided").query
            ),
        )
    if selection.risk or selection.search:
        return Empty(
            title="Nothing matches",
            sentence=f"{selection.heading}, without the filter, may hold more.",
            icon="filter",
            label="Show without the filter",
            href=address("queue", slug, query=Selection(view=selection.view).query),
        )
    waiting = len(index.entries)
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
    "decided": "Nothing has been decided yet",
}
