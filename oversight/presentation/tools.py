"""What agents can ask for: each tool as it is registered."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.shell import Empty, Pages


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRow:
    """One tool. `state` is on or off; one that nobody reviewed takes anything."""

    href: str
    name: str
    state: str
    mode: str
    risk: str
    reviewed: bool
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsView:
    """In the context as `tools`."""

    rows: tuple[ToolRow, ...]
    pages: Pages
    empty: Empty | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolView:
    """In the context as `tool`. `definition` is its JSON, as it is digested."""

    back_href: str
    stop_href: str
    log_href: str
    row: ToolRow
    description: str
    definition: str
    digest: str
    registered_at: datetime
    now: datetime
