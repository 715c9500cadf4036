"""An answer that was not recorded: why, beside what was typed, which is never lost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from approvals.delegations import decider
from approvals.models import Decision, Request
from approvals.pages.case.desk import blocked_answers, proof_of
from approvals.pages.case.record import CaseRecord
from approvals.presentation.controls import reply_controls
from approvals.presentation.desk import SheetState
from approvals.presentation.marks import mark
from approvals.presentation.reading import by_name
from approvals.presentation.shell import Notice
from approvals.presentation.words import span
from approvals.problems import (
    ANSWERED_BEFORE,
    DIGEST_CHANGED,
    EXPIRED,
    NOT_PENDING,
    REASON_NEEDED,
    REAUTHENTICATE,
    RESPONSE_INVALID,
    TOO_LATE,
)
from kernel.problems import Problem

# There is nothing left to answer: the page says what has happened instead.
SHEETS: Final = frozenset({"approve", "reject", "respond", "request_changes"})
TAKE_BACK: Final = "take_back"  # no verdict, and tried like one
OVER: Final = frozenset(
    {NOT_PENDING.code, EXPIRED.code, ANSWERED_BEFORE.code, TOO_LATE.code}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What somebody tried. `values` is what the form said, by field name.

    Either the form itself was `errors`, or the verb refused with `problem`.
    """

    verdict: str
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    problem: Problem | None = None

    @property
    def status(self) -> int:
        if self.problem:
            return self.problem.status
        return 422 if self.errors else 200  # a form that was left, and found again


def returned_form(record: CaseRecord, attempt: Attempt) -> SheetState | None:
    """The form as it was filled in, where it can still be sent."""
    if not _is_shown_in_form(record, attempt):
        return None
    return SheetState(
        verdict=attempt.verdict,
        values=attempt.values,
        errors=attempt.errors or _errors(record, attempt.problem),
        kept=_is_stale(attempt),
    )


def _errors(record: CaseRecord, problem: Problem | None) -> dict[str, str]:
    """The sentence beside its field, or at the head of the form."""
    if problem is None:
        return {}
    said = f"{problem.title}. {problem.detail}"
    if problem.code == RESPONSE_INVALID.code:
        return _reply_errors(record, problem)
    return {_field(record, problem): said}


def _field(record: CaseRecord, problem: Problem) -> str:
    """Beside which a problem is shown; anything else concerns the form as a whole."""
    if problem.code == REAUTHENTICATE.code:
        return proof_of(record).field
    return "reason" if problem.code == REASON_NEEDED.code else ""


def _reply_errors(record: CaseRecord, problem: Problem) -> dict[str, str]:
    """Beside the controls that the pointers lead to; without a schema, the one text."""
    schema = record.request.response_schema
    if not schema:
        return {"response": f"{problem.title}. {problem.detail}"}
    flaws = (
        {**one, "pointer": one["pointer"].removeprefix("/response")}
        for one in problem.flaws
    )
    return by_name(reply_controls(schema), flaws)


def told(record: CaseRecord, attempt: Attempt) -> Notice | None:
    """What is said above the case; None where the returned form says it itself."""
    problem = attempt.problem
    if attempt.verdict == TAKE_BACK and problem is not None:
        return _not_taken_back(problem)
    if _is_stale(attempt):
        return STALE
    if problem is not None and problem.code in OVER:
        return _over(record, attempt, problem)
    if _is_shown_in_form(record, attempt):
        return None
    said = f"{problem.detail} " if problem else ""
    return Notice(
        title=problem.title if problem else attempt.errors.get("", "Not recorded"),
        sentence=f"{said}Nothing was recorded.{_unsaid(attempt)}",
        code=problem.code if problem else "",
        tone="warn",
        icon="warn",
    )


STALE: Final = Notice(
    title="This changed while you were reading",
    sentence="Nothing was recorded. What is below is what is asked now; what you wrote "
    "is kept in its form.",
    code=DIGEST_CHANGED.code,
    tone="warn",
    icon="refresh",
)


def _not_taken_back(problem: Problem) -> Notice:
    return Notice(
        title=problem.title,
        sentence=f"{problem.detail} Nothing was taken back.",
        code=problem.code,
        tone="warn",
        icon="info",
    )


def _over(record: CaseRecord, attempt: Attempt, problem: Problem) -> Notice:
    given = (one for one in record.counted if one.member_id == record.viewer.id)
    mine = next((one for one in given if one.verdict == attempt.verdict), None)
    if mine is not None:
        return _twice(record, mine)
    return Notice(
        title=_what_happened(record, problem),
        sentence=f"Your answer came too late: it was not recorded.{_unsaid(attempt)}",
        code=problem.code,
        tone="warn",
        icon="info",
    )


def _twice(record: CaseRecord, mine: Decision) -> Notice:
    """The same answer again: a form sent twice, or one whose page did not come."""
    return Notice(
        title="Your answer is recorded",
        sentence=f"You gave it {span(record.now - mine.created_at)} ago. Sending it again "
        "changed nothing.",
        icon="check",
    )


def _what_happened(record: CaseRecord, problem: Problem) -> str:
    """ "Already rejected by Maren Lindqvist, 2 min ago", where people decided."""
    if problem.code == ANSWERED_BEFORE.code:
        return "You have answered this already"
    last = _last_decision(record)
    if problem.code == NOT_PENDING.code and last is not None:
        word = mark("verdict", last.verdict).word
        ago = span(record.now - last.created_at)
        return f"Already decided: {decider(last)} {word} {ago} ago"
    state = Request.State(record.request.state)
    return problem.title if record.is_open else f"Already {state.label.lower()}"


def _last_decision(record: CaseRecord) -> Decision | None:
    kept = [one for one in record.decisions if not one.taken_back_by_id]
    return kept[-1] if kept else None


def _is_stale(attempt: Attempt) -> bool:
    return attempt.problem is not None and attempt.problem.code == DIGEST_CHANGED.code


def _is_shown_in_form(record: CaseRecord, attempt: Attempt) -> bool:
    """Whether there is still a sheet on which the same answer could be given."""
    over = attempt.problem is not None and attempt.problem.code in OVER
    if over or not record.is_decidable or attempt.verdict not in SHEETS:
        return False
    return attempt.verdict not in blocked_answers(record)


def _unsaid(attempt: Attempt) -> str:
    """The person's own words, so that they can be used elsewhere."""
    words = attempt.values.get("reason") or attempt.values.get("response") or ""
    return f" You wrote: “{words.strip()}”" if words.strip() else ""
