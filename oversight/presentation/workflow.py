"""Workflows: what each permits, how it came to be, and what may follow."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.case import Link
from approvals.presentation.shell import Empty, Notice
from oversight.presentation.diagram import Diagram
from oversight.presentation.run import FactChange


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRow:
    """One kind of work in the list."""

    kind: str
    href: str
    version: int | None
    title: str
    fields: int
    stages: int
    live_runs: int
    draft: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowsView:
    """In the context as `workflows`. `shipped` are those that can be taken over."""

    rows: tuple[WorkflowRow, ...]
    new_href: str = ""
    shipped: tuple[Link, ...] = ()
    empty: Empty | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    """One field of a workflow, in words."""

    name: str
    about: str
    form: str
    sources: tuple[str, ...]
    authority: bool
    max_age: str
    lifetime: str
    visibility: str
    record: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """One stage, what leads on from it, and the facts it is not entered without."""

    name: str
    initial: bool
    following: tuple[str, ...]
    required: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRow:
    """One version in the history; `diff_href` compares it with the one before."""

    number: int
    href: str
    at: datetime
    author: str
    note: str
    current: bool
    diff_href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftBox:
    """What is being written. `acts` are the answers that a member may give now.

    `digest` is that of the definition that `lines` compares: each answer carries it.
    """

    state: str
    author: str
    note: str
    edit_href: str
    act_href: str
    digest: str
    lines: tuple[tuple[str, str], ...]
    acts: tuple[tuple[str, str], ...] = ()
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowView:
    """In the context as `workflow`. `lines` are (mark, text) of a comparison."""

    kind: str
    version: int | None
    title: str
    about: str
    list_href: str
    now: datetime
    diagrams: tuple[Diagram, ...]
    stages: tuple[StageRow, ...]
    fields: tuple[FieldRow, ...]
    any_field: bool
    owners: tuple[tuple[str, str], ...]
    retention: str
    schemas: str
    upgrades: tuple[str, ...]
    second_admin: bool
    history: tuple[VersionRow, ...]
    export_href: str = ""
    edit_href: str = ""
    draft: DraftBox | None = None
    lines: tuple[tuple[str, str], ...] = ()
    compared: str = ""
    notice: Notice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowForm:
    """In the context as `form`: a definition as text, with what is wrong with it."""

    kind: str
    kind_given: bool
    definition: str
    note: str
    seen: str
    action: str
    back_href: str
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedValue:
    """What a fact said, and from where; nothing of it where that is `withheld`."""

    text: str
    provenance: str
    reference: str
    withheld: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFact:
    """One fact at an earlier version (`then`) and a later one; None: not stated."""

    name: str
    then: StatedValue | None
    now: StatedValue | None
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """A fact that was stated or taken back: when, in which version, and by what."""

    at: datetime
    version: int
    actor: str
    fact: FactChange


@dataclass(frozen=True, slots=True)
class Stood:
    """From when to when a version of a run's facts stood; None: it still does."""

    version: int
    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    """In the context as `state`: a run between two versions of its facts.

    `stood` tells of each version when it came and went, the earlier one first;
    `typed` is the time that was asked for, `actors` and `sources` (value, whether it is
    chosen) narrow `changes`; `error` says why that time tells nothing.
    """

    label: str
    run_href: str
    before: int
    after: int
    last: int
    name: str
    only_changed: bool
    moved: str
    stood: tuple[Stood, ...]
    now: datetime
    facts: tuple[StateFact, ...]
    workflow_href: str
    diagrams: tuple[Diagram, ...]
    changes: tuple[ChangeRow, ...] = ()
    actors: tuple[tuple[str, bool], ...] = ()
    sources: tuple[tuple[str, bool], ...] = ()
    zone: str = ""
    typed: str = ""
    error: str = ""
