"""Who is on leave, and who is asked instead."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from approvals.presentation.shell import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """One of a list: `value` is sent, `text` is read."""

    value: str
    text: str
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveForm:
    """One form, empty, filled, or as it was typed; `id` is of the one that it changes.

    Days are 'YYYY-MM-DD'; the last one is the last day away. `at` makes the ids of its
    fields its own.
    """

    at: str
    id: str = ""
    people: tuple[Pick, ...] = ()
    queues: tuple[Pick, ...] = ()
    first_day: str = ""
    last_day: str = ""
    note: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveRow:
    """One time of leave, in days of UTC. `begun`: it is under way. `form` is what changes it."""

    id: str
    away: str
    instead: str
    first_day: date
    last_day: date
    queues: tuple[str, ...]
    note: str
    begun: bool
    form: LeaveForm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveView:
    """In the context as `leave`. `mine`: it is the reader's own; `others` are those for
    whom this person stands in."""

    here: str
    mine: bool
    rows: tuple[LeaveRow, ...]
    others: tuple[LeaveRow, ...]
    form: LeaveForm
    now: datetime
    notice: Notice | None = None
