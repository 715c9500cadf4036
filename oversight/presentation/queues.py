"""Queues, and who may do what on each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from approvals.presentation.shell import Empty, Notice, Pages
from oversight.presentation.forms import Choice, Form


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """One queue. `may` has the names of those who hold each right, by its column."""

    href: str
    slug: str
    name: str
    default: bool
    waiting: int
    may: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuesView:
    """In the context as `queues`."""

    here: str
    rows: tuple[QueueRow, ...]
    columns: tuple[str, ...]
    pages: Pages
    form: Form
    empty: Empty | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderRow:
    """A group or member, and what they hold. `value` is what a form sends of them."""

    value: str
    name: str
    kind: str
    rights: tuple[Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NudgesForm:
    """When people are reminded and others asked too: minutes as text, '' for never."""

    remind: str
    escalate: str
    groups: tuple[Choice, ...]
    queues: tuple[Choice, ...]
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """In the context as `queue`. `counts` has how many people hold each right now."""

    back_href: str
    here: str
    slug: str
    name: str
    default: bool
    counts: tuple[tuple[str, int], ...]
    holders: tuple[HolderRow, ...]
    groups: tuple[Choice, ...]
    people: tuple[Choice, ...]
    rights: tuple[Choice, ...]
    form: Form
    nudges: NudgesForm
    notice: Notice | None = None
