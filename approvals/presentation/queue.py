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
    imitate; `unusual`: its agent asks far more than it used to; `outcome` says what
    became of a request decided meanwhile; `alike` leads to the others that ask the same
    of the same tool; it waits for those of `behalf` too, for whom the reader stands in,
    or for `others` and not for the reader, who turns keys elsewhere;
    `taken_by` is on it until `taken_until`.
    `more` alike ones are folded into this row; `folded` are the first of them.
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
    unusual: bool = False
    reopened: bool = False
    wants_answer: bool = False
    alike: Link | None = None
    behalf: tuple[str, ...] = ()
    others: bool = False
    tickable: bool = False
    decided_at: datetime | None = None
    taken_by: str = ""
    taken_until: datetime | None = None
    outcome: str = ""
    current: bool = False
    folded: "tuple[QueueRow, ...]" = ()
    more: int = 0

    @property
    def unfolded(self) -> bool:
        """Whether the open case is among those that are folded into this one."""
        return any(row.current for row in self.folded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A count that is a filter. The counts of a set add up to the list they head."""

    value: str
    label: str
    count: int
    href: str
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One value of a filter. `count` is how many requests the list would then have."""

    value: str
    label: str
    count: int | None = None
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A filter of the list as a control of its form; the first option is none."""

    name: str
    label: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The form that narrows the list. It is sent by GET to `href`.

    `kept` are the parameters that it has no control for.
    """

    href: str
    controls: tuple[Filter, ...]
    kept: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """In the context as `queue`.

    The list's own address answers its fragment `again`, and `case_label` names the case that
    is open beside it; `empty` is set exactly
    when there are no rows; `case` is the open one, `case_empty` the reason for none.
    `decided` leads to what a search finds besides, among the decided. `filtered_by`
    are the filters in force, each with the way to be rid of it. Ticked rows go by GET to
    `together_href`, with `kept`, the selection; `undo`: those of it can be revoked.
    """

    heading: str
    rows: tuple[QueueRow, ...]
    pages: Pages
    now: datetime
    facets: tuple[Facet, ...] = ()
    filtered_by: tuple[Facet, ...] = ()
    filters: Filters | None = None
    together_href: str = ""
    undo: bool = False
    kept: tuple[tuple[str, str], ...] = ()
    empty: Empty | None = None
    notice: Notice | None = None
    case: CaseView | None = None
    case_label: str = ""
    case_empty: Empty | None = None
    decided: Link | None = None
