"""What a session keeps: its files, how long, and what holds it."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.shell import Empty, Pages


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """A file; `name` is its sender's. `href` downloads it, and no page shows it."""

    href: str
    name: str
    media_type: str
    size: int
    digest: str
    put_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldRow:
    """A legal hold in force. `href` lifts it, for who may and where it is of this session.

    `reason` is empty for who does not oversee the tenant.
    """

    id: str
    reason: str
    placed_at: datetime
    of_tenant: bool
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """In the context as `session`; `hold_href` places a hold, for who may."""

    label: str
    run_label: str
    run_href: str
    runs_href: str
    title: str
    now: datetime
    files: tuple[FileRow, ...] = ()
    empty: Empty | None = None
    pages: Pages | None = None
    holds: tuple[HoldRow, ...] = ()
    hold_href: str = ""
    erased_at: datetime | None = None
