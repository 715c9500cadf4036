"""For how long the tenant keeps what, and what it holds."""

from dataclasses import dataclass, field
from datetime import datetime

from approvals.presentation.shell import Notice
from oversight.presentation.forms import Form


@dataclass(frozen=True, slots=True, kw_only=True)
class TermRow:
    """How many days a kind of work is kept after it ended; `by` says whose word it is."""

    kind: str  # empty: whatever has no term of its own
    days: int
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldLine:
    """A hold in force, on a session or, without `session_label`, on all of the tenant."""

    id: str
    session_label: str
    session_href: str
    reason: str
    placed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionView:
    """In the context as `retention`. `may`: whether forms are offered."""

    now: datetime
    answer: str
    terms: tuple[TermRow, ...]
    holds: tuple[HoldLine, ...]
    more_holds: int
    here: str
    back_href: str
    may: bool
    term: Form = field(default_factory=Form)
    hold: Form = field(default_factory=Form)
    lift: Form = field(default_factory=Form)
    notice: Notice | None = None
