"""Everything that one person did, as the audit log has it."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.shell import Empty, Pages
from oversight.presentation.forms import Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """One thing: `sort` is one of the filter's, `href` leads to what it was about."""

    seq: int
    at: datetime
    sort: str
    what: str
    about: str
    href: str
    entry_href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoingsView:
    """In the context as `doings`. `sorts` are the choices of the filter."""

    now: datetime
    name: str
    email: str
    crumbs: tuple[tuple[str, str], ...]
    here: str
    sorts: tuple[Choice, ...]
    rows: tuple[Doing, ...]
    pages: Pages
    empty: Empty | None = None
