"""The frame of every page: where a member can go, and how much waits there."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from django.urls import reverse

from approvals.models import SavedView
from approvals.pages.addresses import address
from approvals.pages.broken import alarm
from approvals.pages.index import Index
from approvals.pages.saved_views import (
    count_of,
    entrance,
    saved_views,
    view_links,
)
from approvals.pages.selection import MY_OWN, VIEWS, Selection
from approvals.pages.viewer import Viewer
from approvals.presentation.shell import NavItem, Shell, Ways
from tenants.access import memberships
from tenants.models import User

PLACES: Final = (
    ("queue", "Queue", "queue", "q"),
    ("standing", "Standing approvals", "key-turned", "y"),
    ("runs", "Runs", "runs", "r"),
    ("workflows", "Workflows", "trace", "f"),
)
# Where a place is entered, if not at its own address: with the view that one begins with.
ENTRANCES: Final = {"queue": "tenant"}
# For those who oversee the tenant: owners, admins and auditors.
OVERSEEN: Final = (
    ("policies", "Policies", "policy", "p"),
    ("insights", "Insights", "insights", "i"),
    ("audit", "Audit log", "audit", "a"),
    ("drills", "Drills", "anchor", "d"),
)
# For those who administer it.
ADMINISTERED: Final = (
    ("agents", "Agents", "agent", "n"),
    ("tools", "Tools", "tools", "t"),
    ("people", "People", "people", "m"),
    ("queues", "Queues", "queue", "u"),
    ("webhooks", "Webhooks", "external", "w"),
    ("system", "System", "sliders", "s"),
)


def frame(
    user: User,
    viewer: Viewer,
    index: Index,
    *,
    place: str,
    selection: Selection | None = None,
    **about: str,
) -> Shell:
    """`place` is the name of the address that the page belongs to.

    `about` names what the page's event stream tells of besides the queues: a `request`
    or a `run`.
    """
    saved = saved_views(viewer)
    # Whoever runs a provider may be behind a session that came by it.
    several = viewer.membership.identity is None and len(memberships(user)) > 1
    return Shell(
        tenant=viewer.membership.tenant_name,
        person=str(user),
        role=viewer.membership.role.label,
        home_href=address("tenant", viewer.slug),
        sign_out_href=reverse("account_logout"),
        security_href=reverse("mfa_index"),
        notifications_href=address("notifications", viewer.slug),
        leave_href=address("leave", viewer.slug),
        nav=places(viewer, place, index, saved),
        waiting=index.counts()["mine"],
        admin=_items(
            viewer, ADMINISTERED if viewer.membership.administers else (), place
        ),
        views=views(viewer, selection, index, saved) if selection else (),
        views_href=_views_href(viewer, selection) if selection else "",
        switch_href=reverse("home") if several else None,
        live_href=address("stream", viewer.slug, query=about),
        find_href=address("queue", viewer.slug),
        alarm=alarm(viewer),
    )


def places(
    viewer: Viewer, place: str, index: Index, saved: Sequence[SavedView]
) -> tuple[NavItem, ...]:
    """Where everybody can go, and those who oversee the tenant."""
    overseen = OVERSEEN if viewer.membership.oversees else ()
    counts = {"queue": count_of(entrance(viewer, saved), index)}
    return _items(viewer, (*PLACES, *overseen), place, counts)


def counted_ways(viewer: Viewer, selection: Selection, index: Index) -> Ways:
    """Those beside the list that say how much is there, for a list that is drawn anew."""
    saved = saved_views(viewer)
    ways = places(viewer, "queue", index, saved)
    return Ways(
        nav=tuple(item for item in ways if item.counted),
        views=views(viewer, selection, index, saved),
        views_href=_views_href(viewer, selection),
    )


def name_of(ways: Sequence[NavItem]) -> str:
    """What the list is called that is open: as the way to it."""
    return next(way.label for way in ways if way.current)


def _views_href(viewer: Viewer, selection: Selection) -> str:
    return address("views", viewer.slug, query=selection.first_page().query)


def _items(
    viewer: Viewer,
    ways: tuple[tuple[str, str, str, str], ...],
    place: str,
    counts: Mapping[str, int | None] = MappingProxyType({}),
) -> tuple[NavItem, ...]:
    return tuple(
        NavItem(
            label=label,
            href=address(ENTRANCES.get(name, name), viewer.slug),
            icon=icon,
            key=key,
            count=counts.get(name),
            counted=name in counts,
            current=name == place,
        )
        for name, label, icon, key in ways
    )


def views(
    viewer: Viewer, selection: Selection, index: Index, kept: Sequence[SavedView]
) -> tuple[NavItem, ...]:
    """Ours, then those that were saved; one of them is the list that is open."""
    counts, slug = index.counts(), viewer.slug
    own = Selection(view="decided", mine="1")
    mine = NavItem(
        label=MY_OWN,
        href=address("queue", slug, query=own.query),
        current=selection.first_page() == own,
        key="view-own",
    )
    saved = view_links(slug, kept, selection, index)
    named = mine.current or any(item.current for item in saved)
    ours = (
        NavItem(
            label=label,
            href=address("queue", slug, query=Selection(view=view).query),
            count=counts.get(view),
            current=view == selection.view and not named,
            key=f"view-{view}",
        )
        for view, label in VIEWS.items()
    )
    return (*ours, mine, *saved)
