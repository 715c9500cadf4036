"""The views that a person has, of their own and of everybody's."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import F, Q
from django.http import QueryDict

from approvals.models import SavedView
from approvals.pages.addresses import address
from approvals.pages.filters import chips
from approvals.pages.index import Index
from approvals.pages.selection import VIEWS, Selection
from approvals.pages.viewer import Viewer
from approvals.presentation.saved_views import SavedViewRow, SavedViewsPage
from approvals.presentation.shell import Empty, NavItem, Notice
from audit.evidence import signed_entries

NONE: Final = Empty(
    title="No view is saved yet",
    sentence="Narrow the list to what you often look for, then save it here.",
    icon="filter",
)
GONE: Final = Notice(
    title="The view is deleted.",
    sentence="The requests that it listed are as they were.",
    tone="ok",
    icon="pass",
)
DONE: Final = {
    "save": ("“{}” is saved.", "It stands beside the queue, below the other views."),
    "rename": ("It is called “{}” now.", ""),
    "default": ("The queue begins with “{}” now.", ""),
    "no_default": ("The queue begins with “{}” no more.", ""),
}
BEGINS: Final = {"default": True, "no_default": False}


def saved_views(viewer: Viewer) -> list[SavedView]:
    """Their own first, by name."""
    rows = SavedView.objects.filter(Q(owner=viewer.id) | Q(owner=None))
    return list(rows.order_by(F("owner").asc(nulls_last=True), "name"))


def entrance(viewer: Viewer, views: Sequence[SavedView]) -> Selection:
    """Where they begin: their own default, or else everybody's, or else what is theirs.

    Who decides nowhere has nothing of their own to do, and begins with all.
    """
    first = next((one for one in views if one.default), None)
    if first is not None:
        return selection_of(first)
    return Selection(view="mine") if viewer.rights.get("decide") else Selection()


def selection_of(view: SavedView) -> Selection:
    return Selection.read(QueryDict(view.query).dict())


def query_of(selection: Selection) -> str:
    """As it is kept: an address's, from the list's beginning."""
    given = {k: v for k, v in selection.first_page().query.items() if v}
    return urlencode(given)


def view_links(
    slug: str, views: Sequence[SavedView], selection: Selection, index: Index
) -> tuple[NavItem, ...]:
    """With the count of the list that each leads to, from the same statement.

    What a text finds is known of the list that is open alone, and the decided are not
    counted.
    """
    here = query_of(selection)
    return tuple(
        NavItem(
            label=one.name,
            href=address("queue", slug, query=selection_of(one).query),
            count=count_of(selection_of(one), index),
            current=one.query == here,
            key=f"view-{one.id}",
        )
        for one in views
    )


def count_of(selection: Selection, index: Index) -> int | None:
    """How many the list has that a link leads to, where that is known without a search."""
    if selection.search or selection.view == "decided":
        return None
    return len(index.of(selection))


def saved_views_page(
    viewer: Viewer,
    selection: Selection,
    *,
    error: str = "",
    name: str = "",
    at: str = "",
    done: str = "",
    saved: str = "",
) -> SavedViewsPage:
    """All of them, and the form that saves `selection`.

    `error` is why the last form was refused, `name` what it said, `at` the view whose
    form it was ('' for the one that saves); `done` is what became of `saved` before.
    """
    administers = viewer.membership.administers
    rows = tuple(
        _row(viewer, one, administers, error, name, at) for one in saved_views(viewer)
    )
    return SavedViewsPage(
        href=address("views", viewer.slug, query=selection.first_page().query),
        queue_href=address("queue", viewer.slug, query=selection.query),
        heading=_words(viewer.slug, selection),
        rows=rows,
        may_share=administers,
        empty=None if rows else NONE,
        notice=None if error else _notice(viewer, rows, done, saved),
        error="" if at else error,
        name="" if at else name,
    )


def _notice(
    viewer: Viewer, rows: Sequence[SavedViewRow], done: str, saved: str
) -> Notice | None:
    """What was done, as an address says; so only where it is so by now."""
    found = next((row for row in rows if row.id == saved), None)
    if found is None:
        return GONE if done == "delete" and _deleted(viewer, saved) else None
    if done not in DONE or found.default != BEGINS.get(done, found.default):
        return None
    title, sentence = DONE[done]
    return Notice(
        title=title.format(found.name), sentence=sentence, tone="ok", icon="pass"
    )


def _deleted(viewer: Viewer, saved: str) -> bool:
    """Whether the viewer did so: of a view that is gone nothing else is kept."""
    try:
        subjects = [UUID(saved)]
    except ValueError:
        return False
    tenant_id = viewer.membership.tenant_id
    found = signed_entries(tenant_id, kinds=["view.deleted"], subjects=subjects)
    return [one.member for one in found] == [viewer.id]


def _row(
    viewer: Viewer, view: SavedView, administers: bool, error: str, name: str, at: str
) -> SavedViewRow:
    selection, tried = selection_of(view), at == str(view.id)
    return SavedViewRow(
        id=str(view.id),
        name=name if tried else view.name,
        href=address("queue", viewer.slug, query=selection.query),
        words=_words(viewer.slug, selection),
        shared=view.owner_id is None,
        default=view.default,
        changeable=view.owner_id is not None or administers,
        error=error if tried else "",
    )


def _words(slug: str, selection: Selection) -> str:
    """'All open; low risk; Tool: pay'."""
    said = [chip.label for chip in chips(slug, selection)]
    return "; ".join([VIEWS[selection.view], *said])
