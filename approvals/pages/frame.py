"""The frame of every page: where a member can go, and how much waits there."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from django.urls import reverse

from approvals.pages.addresses import address
from approvals.pages.broken import alarm
from approvals.pages.index import Index
from approvals.pages.selection import VIEWS, Selection
from approvals.pages.viewer import Viewer
from approvals.presentation.shell import NavItem, Shell
from tenants.access import memberships
from tenants.models import User

PLACES: Final = (
    ("queue", "Queue", "queue", "q"),
    ("runs", "Runs", "runs", "r"),
    ("workflows", "Workflows", "trace", "f"),
)
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
    counts = index.counts()
    several = len(memberships(user)) > 1
    return Shell(
        tenant=viewer.membership.tenant_name,
        person=str(user),
        role=viewer.membership.role.label,
        home_href=address("queue", viewer.slug),
        sign_out_href=reverse("account_logout"),
        security_href=reverse("mfa_index"),
        nav=_nav(viewer, place, counts["mine"]),
        admin=_items(
            viewer, ADMINISTERED if viewer.membership.administers else (), place
        ),
        views=_views(viewer.slug, selection, counts) if selection else (),
        switch_href=reverse("home") if several else None,
        live_href=address("stream", viewer.slug, query=about),
        find_href=address("queue", viewer.slug),
        alarm=alarm(viewer),
    )


def _nav(viewer: Viewer, place: str, mine: int) -> tuple[NavItem, ...]:
    overseen = OVERSEEN if viewer.membership.oversees else ()
    return _items(viewer, (*PLACES, *overseen), place, {"queue": mine})


def _items(
    viewer: Viewer,
    places: tuple[tuple[str, str, str, str], ...],
    place: str,
    counts: Mapping[str, int] = MappingProxyType({}),
) -> tuple[NavItem, ...]:
    return tuple(
        NavItem(
            label=label,
            href=address(name, viewer.slug),
            icon=icon,
            key=key,
            count=counts.get(name),
            current=name == place,
        )
        for name, label, icon, key in places
    )


def _views(
    slug: str, selection: Selection, counts: dict[str, int]
) -> tuple[NavItem, ...]:
    return tuple(
        NavItem(
            label=label,
            href=address("queue", slug, query=Selection(view=view).query),
            count=counts.get(view),
            current=view == selection.view,
        )
        for view, label in VIEWS.items()
    )
