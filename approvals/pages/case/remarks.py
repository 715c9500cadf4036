"""What a person can do about a case besides deciding, and who is on it."""

from approvals.pages.addresses import address
from approvals.pages.case.record import CaseRecord
from approvals.pages.selection import Selection
from approvals.presentation.case import Remarks
from approvals.presentation.snooze import lengths_before


def remarks_of(record: CaseRecord, selection: Selection) -> Remarks:
    request, query = record.request, selection.query
    until = request.taken_until
    taken = record.is_open and until is not None and until > record.now
    erased = request.session.erased_at is not None
    decides = record.is_open and "decide" in record.rights
    return Remarks(
        comment_href=""
        if erased
        else address("comment", record.slug, request.id, query=query),
        take_href=address("take", record.slug, request.id, query=query)
        if decides
        else "",
        taken_by=record.name(request.taken_by_id) if taken else "",
        taken_until=until if taken else None,
        mine=taken and request.taken_by_id == record.viewer.id,
        givable=_others_who_decide(record) if decides else (),
        snooze_href=address("snooze", record.slug, request.id, query=query)
        if record.is_open
        else "",
        snoozed_until=record.snoozed.until if record.snoozed else None,
        lengths=lengths_before(request.due_at, record.now) if request.due_at else (),
    )


def _others_who_decide(record: CaseRecord) -> tuple[tuple[str, str], ...]:
    """Whom it can be given: ids and names."""
    others = record.deciders - {record.viewer.id} - set(record.asking_side)
    return tuple(
        (str(one), record.name(one)) for one in sorted(others, key=record.name)
    )
