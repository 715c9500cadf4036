"""The pages of broken glass: breaking one in two steps, and looking into it afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from approvals.presentation.case import ExactAction
from approvals.presentation.proof import Proof
from approvals.presentation.shell import Empty, Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakView:
    """In the context as `glass`. `confirming` is the second step, with the reason given.

    `missing` says in words which keys are gone without; `errors` has a sentence by field.
    """

    href: str
    case_href: str
    label: str
    title: str
    agent: str
    mode: str
    now: datetime
    exact: ExactAction
    missing: str
    confirming: bool
    reason: str = ""
    proof: Proof | None = None
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def values(self) -> Mapping[str, str]:
        """As the shared fields read a form."""
        return {"reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRow:
    """One glass that was broken. `reason` is its person's, `review` a word or ''.

    `href` leads to where it is looked into; `why_not` says why the reader may not.
    """

    label: str
    title: str
    case_href: str
    href: str
    by: str
    at: datetime
    reason: str
    review: str = ""
    reviewed_by: str = ""
    reviewed_at: datetime | None = None
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenView:
    """In the context as `broken`: all that the reader sees, open ones first."""

    now: datetime
    open: int
    rows: tuple[BrokenRow, ...]
    most: int
    empty: Empty | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewView:
    """In the context as `review`: one of them, with the form for who may."""

    now: datetime
    row: BrokenRow
    status: str
    exact: ExactAction
    back_href: str
    typed: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    notice: Notice | None = None
