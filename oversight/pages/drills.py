"""The report of the last drill, as its page shows it."""

from dataclasses import asdict
from datetime import datetime
from typing import Final

from approvals.presentation.shell import Empty
from oversight.drills.incident import Verdict
from oversight.drills.report import Report, last_report
from oversight.presentation.drills import CountRow, DrillRow, DrillsView

NONE_YET: Final = Empty(
    title="No drill was held yet",
    sentence="An operator holds one with “manage.py drill”. Its report will stand here.",
    icon="key-waiting",
)
NEVER: Final = frozenset({"duplicates", "lost", "stuck"})
PLACES: Final = {"here": "this installation", "own": "one of its own"}


def drills_view(now: datetime) -> DrillsView:
    """What the file says; it is of the whole installation, and of no tenant's data."""
    report = last_report()
    if report is None:
        return DrillsView(now=now, empty=NONE_YET)
    return DrillsView(
        now=now,
        answer=_answer(report),
        held_at=datetime.fromisoformat(report.at),
        rows=tuple(map(_row, report.verdicts)),
        counts=tuple(
            CountRow(
                name=name.capitalize(), value=value, bad=name in NEVER and value > 0
            )
            for name, value in asdict(report.counts).items()
        ),
    )


def _answer(report: Report) -> str:
    failed, skipped = report.how_many("failed"), report.how_many("skipped")
    passed = f"{report.how_many('passed')} of {len(report.verdicts)} incidents passed"
    more = [
        f"{n} {word}" for n, word in ((failed, "failed"), (skipped, "skipped")) if n
    ]
    return f"{', '.join([passed, *more])}, in {report.seconds:.0f} seconds."


def _row(verdict: Verdict) -> DrillRow:
    return DrillRow(
        id=verdict.id,
        promise=verdict.promise,
        state=verdict.word,
        seconds=verdict.seconds,
        place=PLACES.get(verdict.place, verdict.place),
        reason=verdict.reason,
        evidence=tuple(f"{each.label}: {each.text}" for each in verdict.evidence),
    )
