"""Policies on pages: what each says in words, how it came to be, what may follow."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from approvals.presentation.shell import Empty, Notice
from oversight.presentation.policy_form import Typed
from oversight.presentation.selector_words import EVERYTHING

type Line = tuple[str, str]
"""(mark, text) of one line of a comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Which actions. `words` is empty where the expression has none; `code` is exact."""

    words: str
    code: str

    @property
    def sentence(self) -> str:
        """'Every action', 'Where the tool is pay', or nothing."""
        if self.words == EVERYTHING:
            return "Every action"
        return f"Where {self.words}" if self.words else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRow:
    """One policy in the list. `verdict` and `state` are words of marks."""

    name: str
    href: str
    summary: str
    matching: Matching | None
    verdict: str
    who: str
    state: str
    revision: int | None
    at: datetime | None
    by: str
    draft: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PoliciesView:
    """In the context as `policies`. `ask_href` is an owner's way to a second admin."""

    rows: tuple[PolicyRow, ...]
    now: datetime
    second_admin: bool
    offers_href: str
    new_href: str = ""
    ask_href: str = ""
    empty: Empty | None = None
    notice: Notice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One member of a definition on both sides, in words; '' where it is not stated."""

    label: str
    before: str
    after: str
    is_code: bool = False

    @property
    def kind(self) -> str:
        """As the table marks it."""
        if not self.before:
            return "added"
        return "changed" if self.after else "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two definitions: in words, and exactly."""

    title: str
    differences: tuple[Difference, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRow:
    """One revision in the history; `diff_href` compares it with the one before."""

    number: int
    href: str
    at: datetime
    author: str
    cosigned_by: str
    note: str
    shown: bool
    in_force: bool
    diff_href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """One rule in words, and how many people could answer for it now."""

    words: str
    able: int
    enough: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """A request that would have been judged otherwise."""

    label: str
    title: str
    href: str
    at: datetime
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialGroup:
    """So many requests whose outcome would have moved like this."""

    count: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialView:
    """What a draft would have changed; `rows` are the newest of them."""

    examined: int
    matched: int
    changed: int
    complete: bool
    groups: tuple[TrialGroup, ...]
    rows: tuple[TrialRow, ...]
    now: datetime

    @property
    def headline(self) -> str:
        """How many would have changed, of how many."""
        if not self.examined:
            return "No request to try it on yet"
        who = f"{self.changed:,}" if self.changed else "None"
        return f"{who} of the last {self.examined:,} requests would have changed"

    @property
    def matches(self) -> str:
        """How many it is about at all."""
        return f"It matches {self.matched:,} of them. Trying changed nothing."

    @property
    def rest(self) -> str:
        """What is counted and not shown one by one."""
        more = self.changed - len(self.rows)
        return f"{more:,} older ones are counted above and not shown." if more else ""


class TrialUnderWay:
    """In place of a `TrialView` while the page is sent: see oversight/streamed.py."""

    under_way: Final = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDraftBox:
    """What is being written, compared with what is in force."""

    author: str
    note: str
    retires: bool
    edit_href: str
    try_href: str
    comparison: Comparison
    acts: tuple[tuple[str, str], ...] = ()
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """In the context as `policy`. `acts` are what may be done to what is in force.

    `seen` says what stands, of the draft too: each answer carries it.
    """

    name: str
    revision: int | None
    state: str
    verdict: str
    summary: str
    list_href: str
    href: str
    act_href: str
    now: datetime
    matching: Matching | None
    rules: tuple[RuleRow, ...]
    rest: tuple[tuple[str, str], ...]
    history: tuple[RevisionRow, ...]
    second_admin: bool
    seen: str = ""
    acts: tuple[tuple[str, str], ...] = ()
    edit_href: str = ""
    draft: PolicyDraftBox | None = None
    comparison: Comparison | None = None
    trial: TrialView | TrialUnderWay | None = None
    notice: Notice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Something to tick or to select."""

    value: str
    label: str
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleForm:
    """One rule's fields; `number` is counted from 1, for people."""

    at: int
    approvals: str
    denials: str
    groups: tuple[Choice, ...]
    members: tuple[Choice, ...]
    error: str

    @property
    def number(self) -> int:
        return self.at + 1

    @property
    def names_people(self) -> bool:
        return any(one.chosen for one in self.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeField:
    """A length of time as text."""

    name: str
    label: str
    value: str
    placeholder: str
    hint: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyForm:
    """In the context as `form`. `errors` has a sentence by field, '' for the whole."""

    typed: Typed
    name: str
    action: str
    back_href: str
    verdicts: tuple[Choice, ...]
    queues: tuple[Choice, ...]
    reasons: tuple[Choice, ...]
    counts: tuple[Choice, ...]
    glass: tuple[Choice, ...]
    limits: tuple[Choice, ...]
    times: tuple[TimeField, ...]
    rules: tuple[RuleForm, ...]
    variables: tuple[tuple[str, str], ...]
    matching: Matching
    errors: Mapping[str, str]
    error: str = ""
    selector_error: str = ""
    trial: TrialView | TrialUnderWay | None = None
