"""A tenant's own provider, as its page shows it."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.shell import Notice
from oversight.presentation.forms import Choice, Form


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingRow:
    """A value of the claim, and the group that it stands for."""

    id: str
    value: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRow:
    """A link to join that still opens something. The link itself is shown to nobody."""

    id: str
    name: str
    role: str
    by: str
    ends_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleSignOnView:
    """In the context as `sso`. `link` is an invitation, when it was just made.

    `connected` of `members` can enter by it. `may_refuse`: an owner who came by it.
    """

    back_href: str
    here: str
    entrance: str
    redirect_uri: str
    issuer_hint: str
    configured: bool
    admits: bool
    refuses_passwords: bool
    is_owner: bool
    may_refuse: bool
    connected: int
    members: int
    roles: tuple[Choice, ...]
    link_roles: tuple[Choice, ...]
    mappings: tuple[MappingRow, ...]
    links: tuple[LinkRow, ...]
    groups: tuple[Choice, ...]
    form: Form
    mapping_form: Form
    link_form: Form
    link: str = ""
    notice: Notice | None = None
