"""What tools answered, as the agent recorded it in the session; newest first."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from approvals.pages.case.record import CaseRecord
from approvals.pages.case.talk import Said, said_in
from approvals.presentation.case import EvidenceRow
from approvals.presentation.quarantine import suspected
from sessions.models import Item

MOST: Final = 8
SHORT: Final = 120  # characters that are a summary of themselves
LONGEST: Final = 4_000
OLD: Final = timedelta(days=1)


def evidence(record: CaseRecord, items: Sequence[Item]) -> tuple[EvidenceRow, ...]:
    """Each result beside the call that came before it. It proves what it is: a record."""
    found = [
        _row(record, item, name, said.text) for item, name, said in _results(items)
    ]
    return tuple(found[::-1][:MOST])


def _results(items: Sequence[Item]) -> Iterator[tuple[Item, str, Said]]:
    called = ""
    for item in items:
        for said in said_in(item):
            if said.call:
                called = said.call
            elif said.provenance == "tool":
                yield item, called or "A tool", said


def _row(record: CaseRecord, item: Item, name: str, text: str) -> EvidenceRow:
    short = len(text) <= SHORT and "\n" not in text and not suspected(text, "tool")
    return EvidenceRow(
        tool=name,
        summary=text if short else "",
        at=item.created_at,
        old=record.now - item.created_at > OLD,
        source=f"Item {item.position}, as {record.request.agent.name} recorded it",
        text="" if short else text[:LONGEST],
    )
