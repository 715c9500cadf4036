"""The queue: rows beside the open case."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.case import CaseView, Keys, Link
from approvals.presentation.shell import Empty, Notice, Pages


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """One request of the list.

    `title` is the agent's unless `title_is_ours`; `size` is the one figure that tells
    rows apart ("€180.50", "412 people"); `disguised` counts characters that hide or
    imitate; `outcome` says what became of a request decided meanwhile.
    """

    id: str
    href: str
    title: str
    title_is_ours: bool
    tool: str
    agent: str
    risk: str
    status: str
    decide_by: datetime | None
    keys: Keys | None = None
    size: str = ""
    disguised: int = 0
    reopened: bool = False
    wants_answer: bool = False
    outcome: str = ""
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A count that is a filter. The counts of a set add up to the list they head."""

    value: str
    label: str
    count: int
    href: str
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """In the context as `queue`.

    `rows_href` answers the fragment `rows` of this very list; `empty` is set exactly
    when there are no rows; `case` is the open one, `case_empty` the reason for none.
    `decided` leads to what a search finds besides, among the decided.
    """

    heading: str
    rows: tuple[QueueRow, ...]
    pages: Pages
    now: datetime
    rows_href: str
    facets: tuple[Facet, ...] = ()
    filtered_by: tuple[Facet, ...] = ()
    empty: Empty | None = None
    notice: Notice | None = None
    case: CaseView | None = None
    case_empty: Empty | None = None
    decided: Link | None = None
