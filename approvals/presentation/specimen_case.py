"""A case in which each of its parts is in each of its states, for the style guide."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from approvals.presentation.case import (
    CaseView,
    ChangeRow,
    Changes,
    Compared,
    DecisionRow,
    EvidenceRow,
    ExactAction,
    FactRow,
    Keys,
    Link,
    NamedFile,
    Need,
    PolicyReason,
    PreconditionRow,
    RadiusRow,
    Remarks,
    TalkRow,
    TimelineEntry,
)
from approvals.presentation.marks import KINDS

HERE: Final = "#case"
SAID: Final = "✔ VERIFIED BY FINANCE\nSecond line."


def specimen_case(
    exact: ExactAction, facts: tuple[FactRow, ...], now: datetime
) -> CaseView:
    ago = now - timedelta(minutes=88)
    return CaseView(
        id="specimen",
        label="REQ-2291",
        title="Pay 1240.00 to Halden Paper Supply",
        title_is_ours=True,
        status="pending",
        risk="high",
        revision=2,
        agent="robot",
        unusual=True,
        subject="Ingrid Moe",
        asked_at=ago,
        now=now,
        case_href=HERE,
        exact=exact,
        run=Link(text="RUN-3307", href=HERE),
        checkpoint=8,
        lead="Transfers money to a bank account. It comes back only if it is sent back.",
        decide_by=now + timedelta(minutes=9),
        keys=Keys(turned=1, needed=3),
        queue=Link(text="Finance approvals"),
        session=Link(text="SES-1042", href=HERE),
        changes=(_changes(),),
        compared=Compared(
            label="REQ-1988", href=HERE, at=ago, rows=_changes().rows[:1], more=2
        ),
        policies=(PolicyReason(name="payments", revision=3, sentence="Money is two."),),
        needs=_needs(ago),
        asked_too="Treasury",
        asked_too_at=ago,
        radius=_radius(),
        facts=facts,
        preconditions=_preconditions(),
        evidence=_evidence(ago),
        files=(
            NamedFile(digest="9f" * 32, href=HERE, name="INV-1042.pdf", size=4_096),
            NamedFile(digest="ab" * 32),
        ),
        talk=_talk(ago),
        timeline=_timeline(ago),
        decisions=_decisions(ago),
        explanation=SAID,
        context_href=HERE,
        glass_href=HERE,
        remarks=taken_states(now)[0],
    )


def theirs(case: CaseView) -> CaseView:
    """Of a tool that nobody has worded: its title is made of an agent's values."""
    return replace(case, title=SAID, title_is_ours=False, id="specimen-theirs")


def taken_states(now: datetime) -> tuple[Remarks, ...]:
    """Nobody is on it; the reader is, and can give it on; another is; it is put aside."""
    free = Remarks(
        comment_href=HERE,
        take_href=HERE,
        snooze_href=HERE,
        lengths=(("hour", timedelta(hours=1)),),
    )
    soon, given = now + timedelta(hours=7), (("1", "Bob"),)
    mine = replace(free, mine=True, taken_by="Maren", taken_until=soon, givable=given)
    return (
        free,
        mine,
        replace(free, taken_by="Bob", taken_until=soon),
        replace(free, snoozed_until=soon),
    )


def _changes() -> Changes:
    rows = (
        ChangeRow(pointer="/amount", before="1240.00", after="990.00"),
        ChangeRow(pointer="/note", before=None, after="urgent"),
        ChangeRow(pointer="/lines/0", before="TN-150", after=None),
    )
    return Changes(since="Since revision 1", rows=rows, by="Bob", reason="Too much.")


def _needs(at: datetime) -> tuple[Need, ...]:
    return (
        Need(label="Finance", turned_by="Maren", turned_at=at, said="Price list seen."),
        Need(label="Procurement", yours=True, note="or Aino Rask."),
        Need(label="Treasury"),
        Need(label="Audit", lost=True, turned_by="Bob", note="Bob has left the group."),
    )


def _radius() -> tuple[RadiusRow, ...]:
    return (
        RadiusRow(icon="reach", label="Reaches", value="bank.example", note="https"),
        RadiusRow(icon="unknown", label="If unsure", value="it can be asked"),
        RadiusRow(icon="undo", label="Sent at most", value="3 times"),
    )


def _preconditions() -> tuple[PreconditionRow, ...]:
    day = timedelta(days=1)
    return (
        PreconditionRow(
            field="matched", equals="true", current="true", holds=True, max_age=day
        ),
        PreconditionRow(field="stock", equals="12", current="0", holds=False),
        PreconditionRow(field="weather", equals=""),
        PreconditionRow(field="salary", equals="", withheld=True),
    )


def _evidence(at: datetime) -> tuple[EvidenceRow, ...]:
    source = "Item 3, as robot recorded it"
    return (
        EvidenceRow(tool="compare", summary="3 lines", at=at, source=source),
        EvidenceRow(tool="read", summary="", at=at, source=source, old=True, text=SAID),
    )


def _talk(at: datetime) -> tuple[TalkRow, ...]:
    said = tuple(
        TalkRow(at=at, provenance=one, who="as robot recorded it", text=SAID)
        for one in KINDS["provenance"]
    )
    return (*said, TalkRow(at=at, provenance="tool", who="", text="{}", call="read"))


def _decisions(at: datetime) -> tuple[DecisionRow, ...]:
    given = tuple(
        DecisionRow(by="Bob", verdict=one, at=at, revision=1, reason="Because.")
        for one in KINDS["verdict"]
    )
    broke = DecisionRow(
        by="Ada", verdict="approve", at=at, revision=2, broke_glass=True
    )
    lost = replace(given[0], counted=False, why_not_counted="the amount changed")
    return (*given, lost, replace(given[0], standing_href=HERE), broke)


def _timeline(at: datetime) -> tuple[TimelineEntry, ...]:
    return (
        TimelineEntry(at=at, icon="answer", text="Bob commented", said="Who is this?"),
        TimelineEntry(
            at=at,
            icon="changes",
            text="robot withdrew it",
            said=SAID,
            said_by_agent=True,
        ),
        TimelineEntry(
            at=at, icon="pass", text="Confirmed", note="attempt 1", tone="ok", href=HERE
        ),
    )
