"""Who belongs to the tenant, in which role, and in which groups."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.shell import Empty, Notice, Pages
from oversight.presentation.forms import Choice, Form
from oversight.presentation.invitations import InvitationRow, ShownLink


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRow:
    """One member. `state` is on, off, over for a guest whose time is, or barred for who
    may not sign in at all. `until`: a guest's end."""

    id: str
    href: str
    name: str
    email: str
    role: str
    state: str
    groups: tuple[str, ...]
    seen_at: datetime | None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleView:
    """In the context as `people`. `mails`: whether this installation sends any."""

    rows: tuple[PersonRow, ...]
    pages: Pages
    invited: tuple[InvitationRow, ...]
    roles: tuple[Choice, ...]
    groups: tuple[Choice, ...]
    form: Form
    guest_form: Form
    here: str
    groups_href: str
    sso_href: str
    mails: bool
    now: datetime
    link: ShownLink | None = None
    notice: Notice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """In the context as `person`. `may_touch`: only owners touch owners."""

    back_href: str
    here: str
    history_href: str
    row: PersonRow
    may_touch: bool
    roles: tuple[Choice, ...]
    groups: tuple[Choice, ...]
    others: tuple[Choice, ...]
    identities: tuple[Choice, ...]
    form: Form
    now: datetime
    notice: Notice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One group, and how many are in it."""

    href: str
    name: str
    members: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsView:
    """In the context as `groups`."""

    back_href: str
    here: str
    rows: tuple[GroupRow, ...]
    pages: Pages
    form: Form
    empty: Empty | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """In the context as `group`."""

    back_href: str
    here: str
    name: str
    rows: tuple[PersonRow, ...]
    others: tuple[Choice, ...]
    form: Form
    now: datetime
    notice: Notice | None = None
