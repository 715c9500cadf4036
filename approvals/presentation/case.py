"""The case: one request, in the order in which it should be read."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from approvals.presentation.arguments import ArgumentNode, Money
from approvals.presentation.desk import Desk
from approvals.presentation.moved import Moved
from approvals.presentation.progress import Progress
from approvals.presentation.shell import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A text of ours and its address; without one it is plain text."""

    text: str
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """How many keys a request needs and how many have turned."""

    turned: int
    needed: int

    @property
    def icons(self) -> tuple[bool, ...]:
        """One flag a key, turned ones first, while they can still be counted."""
        return tuple(place < self.turned for place in range(min(self.needed, 5)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRow:
    """A secret that the call uses by name. `why` says, in our words, why it may not."""

    name: str
    place: str
    tool: str
    host: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactAction:
    """What is digested and runs, in full.

    `arguments` is the root of `argument_tree`; `envelope` is the canonical text (JCS)
    whose SHA-256 under "keyturn/approval/v1" is `digest` (64 hex digits); `size` is
    in bytes of canonical arguments; `mode` is managed or agent. `target_is_older` where it
    was named for other arguments, and stands in none of these.
    """

    tool: str
    mode: str
    arguments: ArgumentNode
    target: str
    target_is_older: bool = False
    digest: str
    envelope: str
    size: int
    money: Money | None = None
    disguised: int = 0
    secrets: tuple[SecretRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """One value that differs from the revision before; None means it was not there."""

    pointer: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What differs from an earlier revision, who caused it and why they asked.

    `expiry` is there where it has another time to decide.
    """

    since: str
    rows: tuple[ChangeRow, ...]
    by: str = ""
    reason: str = ""
    expiry: Moved | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What differs from the last action like it that was approved, which `href` shows.

    `more` values differ besides `rows`; where none does, it asks for the same again.
    """

    label: str
    href: str
    at: datetime | None
    rows: tuple[ChangeRow, ...]
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReason:
    """A policy that asked. `sentence` is its author's, an administrator of the tenant."""

    name: str
    revision: int
    sentence: str
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One slot of the obligation: turned by somebody, or waiting, perhaps for you."""

    label: str
    turned_by: str = ""
    turned_at: datetime | None = None
    note: str = ""
    said: str = ""
    yours: bool = False
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RadiusRow:
    """One figure of the blast radius. `icon` is reach, money, undo or unknown."""

    icon: str
    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRow:
    """One typed fact with its proof. `value` is its exact text.

    Of one that is `withheld` the viewer learns the name alone; one that has `lapsed`
    counts as if it had not been stated.
    """

    name: str
    value: str
    provenance: str
    reference: str = ""
    href: str = ""
    observed_at: datetime | None = None
    withheld: bool = False
    lapsed: bool = False

    @property
    def untrusted(self) -> bool:
        """A model's inference informs; it proves nothing and grants nothing."""
        return self.provenance == "model"

    @property
    def claimed(self) -> bool:
        """A person's word, as the agent passed it on: nobody looked it up."""
        return self.provenance == "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """A file of the session that the arguments name; `href` is empty where it is not."""

    digest: str
    href: str = ""
    name: str = ""
    media_type: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PreconditionRow:
    """What must hold at the moment of the action; `holds` is None when not known yet.

    `withheld`: the value as it stands is not for this viewer.
    """

    field: str
    equals: str
    current: str | None = None
    max_age: timedelta | None = None
    holds: bool | None = None
    withheld: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRow:
    """A tool's result, newest first. `text` is the tool's own, shown as a stranger's."""

    tool: str
    summary: str
    at: datetime
    source: str = ""
    old: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkRow:
    """One item of the session. `who` is named by us; `text` is theirs.

    `provenance` is user, reviewer, model, tool or system; a tool call has a `call`
    (its name) and `text` as its short result.
    """

    at: datetime
    provenance: str
    who: str
    text: str
    call: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """One person's answer to one revision. `why_not_counted` is set when it was not."""

    by: str
    verdict: str
    at: datetime
    revision: int
    reason: str = ""
    counted: bool = True
    broke_glass: bool = False
    why_not_counted: str = ""
    standing_href: str = ""  # of the standing approval that it was given by


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One thing that happened. `text` and `note` are ours, `said` is somebody else's.

    `own`: the reader's look, which is no news to them.
    """

    at: datetime
    icon: str
    text: str
    own: bool = False
    note: str = ""
    said: str = ""
    said_by_agent: bool = False
    tone: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarks:
    """What can be done besides deciding.

    `comment_href` is '' where nothing may be said any more, `take_href` where nobody
    can be on it. `taken_by` is who is on it until `taken_until`; `mine`: the reader.
    `givable` are ids and names of those whom it can be given.
    `lengths` are for how long the reader may put it aside at `snooze_href`, by the name
    that the form sends; `snoozed_until` is set while it is.
    """

    comment_href: str = ""
    take_href: str = ""
    taken_by: str = ""
    taken_until: datetime | None = None
    mine: bool = False
    givable: tuple[tuple[str, str], ...] = ()
    snooze_href: str = ""
    snoozed_until: datetime | None = None
    lengths: tuple[tuple[str, timedelta], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """In the context as `case`.

    `label` is the short name people say ("REQ-2291"); `title` is the agent's unless
    `title_is_ours`; `wants_answer`: it asks, and nothing would run; `lead` is our sentence of the consequence; `place` is "4 of 12".
    `unusual`: its agent asks far more than it used to. `desk` is None when nothing can be
    decided any more; `progress` is None before approval. `context_named`: the agent has
    recorded what its model saw. `case_href` answers the fragment `case` of this very case. `earlier` tells
    of the request that was answered just before. `broken` says that one person approved
    alone; `glass_href` is where the reader may do so, `standing_href` where they may let
    others like it pass. `asked_too` names those who have been asked besides, since
    `asked_too_at`, as nobody had answered. `answers` grows with each, and with each that
    is taken back.
    """

    id: str
    label: str
    title: str
    title_is_ours: bool
    status: str
    risk: str
    revision: int
    agent: str
    subject: str
    asked_at: datetime
    now: datetime
    case_href: str
    live_href: str = ""
    wants_answer: bool = False
    exact: ExactAction
    run: Link
    checkpoint: int
    unusual: bool = False
    lead: str = ""
    decide_by: datetime | None = None
    use_until: datetime | None = None
    keys: Keys | None = None
    queue: Link | None = None
    session: Link | None = None
    changes: tuple[Changes, ...] = ()
    compared: Compared | None = None
    policies: tuple[PolicyReason, ...] = ()
    needs: tuple[Need, ...] = ()
    asked_too: str = ""
    asked_too_at: datetime | None = None
    radius: tuple[RadiusRow, ...] = ()
    facts: tuple[FactRow, ...] = ()
    preconditions: tuple[PreconditionRow, ...] = ()
    evidence: tuple[EvidenceRow, ...] = ()
    files: tuple[NamedFile, ...] = ()
    talk: tuple[TalkRow, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    decisions: tuple[DecisionRow, ...] = ()
    answers: int = 0
    explanation: str = ""
    context_href: str = ""
    context_named: bool = False
    desk: Desk | None = None
    progress: Progress | None = None
    standing_href: str = ""
    notice: Notice | None = None
    earlier: Notice | None = None
    broken: Notice | None = None
    glass_href: str = ""
    erased_at: datetime | None = None
    place: str = ""
    queue_href: str = ""
    previous_href: str = ""
    next_href: str = ""
    onward_href: str = ""
    remarks: Remarks = Remarks()
