"""The last drill: what was exercised on purpose, and what came of it."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.shell import Empty


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRow:
    """One number; `bad` where it ought to be 0 and is not."""

    name: str
    value: int
    bad: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillRow:
    """One incident. `state` is passed, failed or skipped; `place` says where."""

    id: str
    promise: str
    state: str
    seconds: float
    place: str
    reason: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillsView:
    """In the context as `drills`; `empty` is set exactly when none was ever held."""

    now: datetime
    answer: str = ""
    held_at: datetime | None = None
    rows: tuple[DrillRow, ...] = ()
    counts: tuple[CountRow, ...] = ()
    empty: Empty | None = None
