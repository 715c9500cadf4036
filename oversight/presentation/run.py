"""A run looked back on: how it went, by whose authority, with what outcome."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.case import DecisionRow, FactRow, Link
from approvals.presentation.progress import AttemptRow, CheckPin
from approvals.presentation.shell import Empty, Pages


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run of the list. `title` is the session's, from the agent."""

    href: str
    label: str
    title: str
    agent: str
    subject: str
    workflow: str
    state: str
    changed_at: datetime
    open_requests: int = 0
    stage: str = ""
    external_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsView:
    """In the context as `runs`; `empty` is set exactly when there are no rows."""

    rows: tuple[RunRow, ...]
    pages: Pages
    now: datetime
    states: tuple[Link, ...] = ()
    empty: Empty | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChange:
    """One fact before and after a transition; None where there was no value.

    Of one that is `withheld` the viewer learns that it changed.
    """

    name: str
    before: str | None
    after: str | None
    provenance: str
    withheld: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectStory:
    """An effect and its numbered attempts, oldest first."""

    id: str
    tool: str
    state: str
    key: str
    attempts: tuple[AttemptRow, ...]
    external_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportStory:
    """A stored verification report: four pins and the outcome."""

    passed: bool
    pins: tuple[CheckPin, ...]
    code: str = ""
    refusal_class: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointStory:
    """A checkpoint's header. The payload stays with the agent and is never shown."""

    number: int
    digest: str
    schema_version: int
    completed: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    parent: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryStep:
    """One step of the run's story, told in `heading` and `sentence` (ours).

    `title` is what was asked, in its agent's values.
    At most one of the details is set; `said` is a person's or an agent's reason, shown
    as theirs (`said_by_agent` tells whose register it is).
    """

    at: datetime
    icon: str
    heading: str
    title: str = ""
    sentence: str = ""
    tone: str = ""
    anchor: str = ""
    links: tuple[Link, ...] = ()
    said: str = ""
    said_by_agent: bool = False
    facts: tuple[FactChange, ...] = ()
    checkpoint: CheckpointStory | None = None
    decision: DecisionRow | None = None
    report: ReportStory | None = None
    effect: EffectStory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionView:
    """A run that waits for a person. `href` is empty for who may only look.

    `reason` was recorded when it stopped, and `seen` numbers that; `case_href` leads to
    the question whose action's outcome nobody knows, if the member sees such a one.
    """

    reason: str
    href: str
    seen: int
    open_questions: int
    unknown_effect: bool
    case_href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """In the context as `run`. `answer` says in one sentence where the run stands.

    `asks` is the title of what it waits for, after that sentence.
    """

    id: str
    label: str
    title: str
    agent: str
    subject: str
    workflow: str
    state: str
    stage: str
    answer: str
    asks: str = ""
    opened_at: datetime
    now: datetime
    fence: int
    runs_href: str
    trace_href: str
    state_href: str = ""
    workflow_href: str = ""
    head: CheckpointStory | None = None
    lease_until: datetime | None = None
    external_id: str = ""
    facts: tuple[FactRow, ...] = ()
    requests: tuple[Link, ...] = ()
    story: tuple[StoryStep, ...] = ()
    pages: Pages | None = None
    attention: AttentionView | None = None
    erased_at: datetime | None = None
    session: Link | None = None
    files: int = 0
    held: bool = False
