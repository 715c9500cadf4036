"""Standing approvals on pages: what each covers, how often it was used, and the form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from approvals.presentation.shell import Empty, Notice, Pages


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRow:
    """One argument: its pointer and what it may be, in words around exact values."""

    pointer: str
    exact: bool
    words: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRow:
    """One standing approval. `state` is a word of marks."""

    id: str
    label: str
    href: str
    tool: str
    agent: str
    environment: str
    author: str
    state: str
    used: int
    uses: int
    expires_at: datetime
    made_at: datetime
    bounds: tuple[BoundRow, ...]

    @property
    def left(self) -> int:
        """How many actions it may still let begin."""
        return self.uses - self.used if self.state == "live" else 0

    @property
    def open(self) -> tuple[BoundRow, ...]:
        """Those arguments that may differ."""
        return tuple(one for one in self.bounds if not one.exact)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingsView:
    """In the context as `standing`: the list, newest first."""

    rows: tuple[StandingRow, ...]
    now: datetime
    pages: Pages
    empty: Empty | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UseRow:
    """One request that it answered; `number` counts those that began."""

    label: str
    title: str
    href: str
    state: str
    at: datetime
    began: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingView:
    """In the context as `standing`: one of them, with all that rests on it."""

    row: StandingRow
    target: str
    preconditions: tuple[str, ...]
    risk: str
    reason: str
    request_label: str
    request_href: str
    uses: tuple[UseRow, ...]
    unseen: int  # uses on queues that the viewer does not see
    now: datetime
    back_href: str
    act_href: str = ""
    revoked_at: datetime | None = None
    revoked_by: str = ""
    revoked_reason: str = ""
    reason_error: str = ""
    notice: Notice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundField:
    """One argument that policy leaves open, with what was typed for it."""

    at: int
    pointer: str
    approved: str
    kinds: tuple[tuple[str, str], ...]  # (value, label)
    kind: str = "exactly"
    least: str = ""
    most: str = ""
    values: str = ""
    prefix: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeView:
    """In the context as `make`. `why_not`: nobody can make one from this, and why."""

    label: str
    title: str
    case_href: str
    action: str
    digest: str
    tool: str
    agent: str
    environment: str
    now: datetime
    why_not: str = ""
    fixed: tuple[BoundRow, ...] = ()
    open: tuple[BoundField, ...] = ()
    most_uses: int = 1
    longest: str = ""
    uses: str = ""
    within: str = ""
    reason: str = ""
    reason_required: bool = False
    errors: Mapping[str, str] = field(default_factory=dict)
