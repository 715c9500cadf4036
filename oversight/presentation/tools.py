"""What agents can ask for: each tool as it is registered."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.arguments import ArgumentNode
from approvals.presentation.shell import Empty, Pages
from oversight.presentation.forms import Choice
from oversight.presentation.tool_form import TypedTool


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

    new_href: str
    rows: tuple[ToolRow, ...]
    pages: Pages
    empty: Empty | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolView:
    """In the context as `tool`. `definition` is its JSON, as it is digested."""

    back_href: str
    edit_href: str
    stop_href: str
    log_href: str
    row: ToolRow
    description: str
    definition: str
    digest: str
    registered_at: datetime
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretUse:
    """A secret that a call would use by name; `why` it may not, or empty."""

    name: str
    place: str
    host: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTrial:
    """What asking for it with some arguments would come to. Nothing was sent.

    `refused` has the place and the reason, or is empty; `request` is what the tool would
    be sent, empty where the agent acts itself; `same`: nothing would change.
    """

    title: str
    size: str
    arguments: ArgumentNode
    refused: str
    request: str
    secrets: tuple[SecretUse, ...]
    digest: str
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolForm:
    """In the context as `form`. `name` is empty for a new tool."""

    name: str
    stopped: bool
    unreviewed: bool
    action: str
    back_href: str
    typed: TypedTool
    modes: tuple[Choice, ...]
    risks: tuple[Choice, ...]
    errors: Mapping[str, str]
    trial: ToolTrial | None
