"""What happened to one request, newest first, from the rows that each thing left."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import Final

from approvals.delegations import decider
from approvals.models import (
    Comment,
    Decision,
    Grant,
    Revision,
    Sight,
    VerificationReport,
)
from approvals.pages.addresses import address
from approvals.pages.case.exact import author_of
from approvals.pages.case.record import CaseRecord
from approvals.presentation.arguments import exact_text
from approvals.presentation.case import DecisionRow, TimelineEntry
from approvals.presentation.marks import Mark, mark
from approvals.presentation.words import digest_words
from checkpoints.models import Attempt, Checkpoint
from sessions.models import Transition

MOST: Final = 80


def timeline(
    record: CaseRecord,
    checkpoints: Sequence[Checkpoint],
    transitions: Sequence[Transition],
) -> tuple[TimelineEntry, ...]:
    """Everything of the request, and of its run since the request was asked."""
    entries = chain(
        (_revision(record, one) for one in record.revisions),
        (_decision(record.slug, one) for one in record.decisions),
        _taken_back(record),
        (_comment(record, one) for one in record.comments),
        (_sight(record, one) for one in record.sights),
        map(_report, record.reports),
        _grant(record.grant),
        _nudged(record),
        _attempts(record),
        map(_checkpoint, checkpoints),
        map(_transition, transitions),
        _ended(record),
    )
    newest = sorted(entries, key=lambda entry: entry.at, reverse=True)
    return tuple(newest[:MOST])


def _sight(record: CaseRecord, one: Sight) -> TimelineEntry:
    return TimelineEntry(
        at=one.created_at,
        icon="eye",
        text=f"{record.name(one.member_id)} opened revision {one.revision.number}",
        own=one.member_id == record.viewer.id,
    )


def decision_rows(slug: str, decisions: Sequence[Decision]) -> tuple[DecisionRow, ...]:
    """Each answer that was given, oldest first, and why one counts no more."""
    return tuple(
        DecisionRow(
            by=decider(one),
            verdict=one.verdict,
            at=one.created_at,
            revision=one.revision.number,
            reason=words_of(one),
            counted=one.dismissed_at is None,
            broke_glass=one.broke_glass,
            why_not_counted=one.dismissed_reason.removesuffix("."),
            standing_href=standing_href(slug, one),
        )
        for one in decisions
    )


def decision_mark(decision: Decision) -> Mark:
    """What was answered, or that the glass was broken for it."""
    if decision.broke_glass:
        return mark("breaking", "broke_glass")
    return mark("verdict", decision.verdict)


def given_words(decision: Decision) -> str:
    """What was answered, and whether before it was asked."""
    word = decision_mark(decision).word
    return f"{word} beforehand" if decision.standing_id else word


def standing_href(slug: str, decision: Decision) -> str:
    """The standing approval that an answer was given by, if one was."""
    id = decision.standing_id
    return address("standing_one", slug, id) if id else ""


def words_of(decision: Decision) -> str:
    """What the person wrote: their answer where they gave one, then their reason."""
    if decision.member_id is None:
        return ""
    answer = "" if decision.response is None else exact_text(decision.response)
    return "\n\n".join(filter(None, [answer, decision.reason]))


def _revision(record: CaseRecord, revision: Revision) -> TimelineEntry:
    who = author_of(record, revision)
    return TimelineEntry(
        at=revision.created_at,
        icon="request",
        text=f"Revision {revision.number} asked by {who}",
        note=f"digest {digest_words(bytes(revision.digest).hex(), pairs=1)}",
        said=revision.reason if revision.author_type == "member" else "",
    )


def _decision(slug: str, decision: Decision) -> TimelineEntry:
    found = decision_mark(decision)
    on, reason = f"on revision {decision.revision.number}", decision.dismissed_reason
    gone = f"; dismissed: {reason}" if decision.dismissed_at else ""
    gone = "; taken back" if decision.taken_back_by_id else gone
    return TimelineEntry(
        at=decision.created_at,
        icon=found.icon,
        tone=found.tone,
        text=f"{decider(decision)} {given_words(decision)}",
        note=on + gone,
        href=standing_href(slug, decision),
        said=words_of(decision),
    )


def _taken_back(record: CaseRecord) -> Iterator[TimelineEntry]:
    for one in record.decisions:
        if one.taken_back_by_id and one.dismissed_at:
            own = one.taken_back_by_id == one.member_id
            whose = "their answer" if own else f"the answer of {decider(one)}"
            yield TimelineEntry(
                at=one.dismissed_at,
                icon="undo",
                text=f"{record.name(one.taken_back_by_id)} took {whose} back",
                note=f"on revision {one.revision.number}",
            )


def _comment(record: CaseRecord, comment: Comment) -> TimelineEntry:
    return TimelineEntry(
        at=comment.created_at,
        icon="answer",
        text=f"{record.name(comment.member_id)} commented",
        said=comment.text,
    )


def _report(report: VerificationReport) -> TimelineEntry:
    if report.passed:
        held = len(report.checks)
        return TimelineEntry(
            at=report.created_at,
            icon="pass",
            tone="ok",
            text=f"Verified: {'all four checks' if held == 4 else 'the checks'} held",
        )
    return TimelineEntry(
        at=report.created_at,
        icon="fail",
        tone="bad",
        text=f"Refused: {report.reason}",
        note=report.code,
    )


def _grant(grant: Grant | None) -> Iterator[TimelineEntry]:
    """The approval's end, where it was not used."""
    if grant is None or grant.ended_at is None or grant.state == Grant.State.CONSUMED:
        return
    yield TimelineEntry(
        at=grant.ended_at,
        icon="undo" if grant.state == Grant.State.REVOKED else "expired",
        text=f"Approval {Grant.State(grant.state).label.lower()}",
        note=grant.reason,
    )


def _nudged(record: CaseRecord) -> Iterator[TimelineEntry]:
    """Of the wording that is asked now; the audit log has them all, with names."""
    if record.nudge and record.nudge.reminded_at:
        yield TimelineEntry(
            at=record.nudge.reminded_at,
            icon="clock",
            text="Those who are asked were reminded",
        )
    if record.nudge and record.nudge.escalated_at:
        yield TimelineEntry(
            at=record.nudge.escalated_at,
            icon="up",
            text=f"Escalated: {len(record.nudge.asked_too)} more asked",
        )


def _attempts(record: CaseRecord) -> Iterator[TimelineEntry]:
    for attempt in record.attempts:
        yield _sent(attempt)
        if attempt.ended_at is not None:
            yield _came_to(attempt, attempt.ended_at, record)


def _sent(attempt: Attempt) -> TimelineEntry:
    return TimelineEntry(
        at=attempt.created_at,
        icon="effect",
        text=f"Effect started, attempt {attempt.number}",
        note=f"fence {attempt.fence}",
    )


def _came_to(attempt: Attempt, at: datetime, record: CaseRecord) -> TimelineEntry:
    found = mark("effect", attempt.outcome)
    assert record.effect is not None
    external = record.effect.external_id
    known = attempt.outcome == "confirmed" and external
    return TimelineEntry(
        at=at,
        icon=found.icon,
        tone=found.tone,
        text=f"Attempt {attempt.number}: {found.word.lower()}",
        note=f"external id {external}" if known else "",
    )


def _checkpoint(checkpoint: Checkpoint) -> TimelineEntry:
    digest = digest_words(bytes(checkpoint.digest).hex(), pairs=1)
    return TimelineEntry(
        at=checkpoint.created_at,
        icon="checkpoint",
        text=f"Checkpoint {checkpoint.number} saved",
        note=f"digest {digest}",
    )


def _transition(transition: Transition) -> TimelineEntry:
    return TimelineEntry(
        at=transition.created_at,
        icon=mark("run", transition.to_state).icon,
        text=transition_words(transition),
        note=transition.reason if transition.actor_type != "agent" else "",
    )


def transition_words(transition: Transition) -> str:
    """A run's step in words: its state, its stage, or the facts it stated."""
    if not transition.from_state:
        return "Run opened"
    if transition.from_state != transition.to_state:
        return f"Run {mark('run', transition.to_state).word.lower()}"
    if transition.from_stage != transition.to_stage:
        return f"Stage {transition.to_stage}"
    names = list(transition.changes)
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"Facts stated: {', '.join(names[:3])}{more}"


def _ended(record: CaseRecord) -> Iterator[TimelineEntry]:
    """Endings that leave no row of their own: expiry and withdrawal."""
    request = record.request
    if request.state not in {"expired", "cancelled", "superseded"}:
        return
    if request.decided_at is not None:
        found, ending = mark("request", request.state), record.ending
        by_rule = ending.by == "system" if ending else request.state != "cancelled"
        yield TimelineEntry(
            at=request.decided_at,
            icon=found.icon,
            text=f"Request {found.word.lower()}",
            note=request.resolution if by_rule else "",
            said="" if by_rule else request.resolution,
            said_by_agent=ending is None or ending.by == "agent",
        )
