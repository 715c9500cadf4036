"""A person's leave, from rows; inside the tenant's scope."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

from django.db.models import FETCH_RAISE, Q

from approvals.models import Delegation, Queue
from approvals.presentation.leave import LeaveForm, LeaveRow, LeaveView, Pick
from approvals.presentation.shell import Notice
from kernel.clock import database_now
from tenants.models import Member
from tenants.queries import active_members

NEW: Final = "new"


def leave_view(
    member: Member,
    *,
    here: str,
    mine: bool,
    typed: LeaveForm | None = None,
    notice: Notice | None = None,
) -> LeaveView:
    """`typed` is a form that came back; it takes the place of the one it was."""
    now = database_now()
    people, queues = _people(member), list(Queue.objects.order_by("name"))
    found = _to_come(member, now)
    forms = {} if typed is None else {typed.id: typed}
    rows = [
        _row(one, now, queues, forms.get(str(one.id)) or _filled(one, people, queues))
        for one in found
        if one.delegator_id == member.id
    ]
    return LeaveView(
        here=here,
        mine=mine,
        rows=tuple(rows),
        others=tuple(
            _row(one, now, queues, None)
            for one in found
            if one.delegate_id == member.id
        ),
        form=forms.get("") or _empty(people, queues, now),
        now=now,
        notice=notice,
    )


def as_typed(
    member: Member,
    posted: Mapping[str, str],
    queues: Sequence[str],
    errors: Mapping[str, str],
) -> LeaveForm:
    """The form as it was sent, with what is wrong beside its fields."""
    id = posted.get("delegation", "")
    rows = Queue.objects.order_by("name")
    return LeaveForm(
        at=id or NEW,
        id=id,
        people=_picks(_people(member), {posted.get("delegate", "")}),
        queues=_picks({str(one.id): one.name for one in rows}, set(queues)),
        first_day=posted.get("first_day", ""),
        last_day=posted.get("last_day", ""),
        note=posted.get("note", ""),
        errors=errors,
    )


def _to_come(member: Member, now: datetime) -> list[Delegation]:
    """Those under way and to come, the next first."""
    either = Q(delegator=member) | Q(delegate=member)
    rows = Delegation.objects.filter(either, ended_at=None, ends_at__gt=now)
    rows = rows.select_related("delegator", "delegate")
    return list(rows.order_by("starts_at", "id").fetch_mode(FETCH_RAISE))


def _people(member: Member) -> dict[str, str]:
    """Who could be named: everybody else who is active, and no guest."""
    rows = active_members(member.tenant_id).exclude(id=member.id).filter(until=None)
    rows = rows.order_by("name", "id")
    return {str(one.id): one.name for one in rows}


def _row(
    one: Delegation, now: datetime, queues: Sequence[Queue], form: LeaveForm | None
) -> LeaveRow:
    return LeaveRow(
        id=str(one.id),
        away=one.delegator.name,
        instead=one.delegate.name,
        first_day=first_day(one),
        last_day=last_day(one),
        queues=tuple(queue.name for queue in queues if queue.id in one.queues),
        note=one.note,
        begun=one.starts_at <= now,
        form=form,
    )


def _filled(
    one: Delegation, people: Mapping[str, str], queues: Sequence[Queue]
) -> LeaveForm:
    return LeaveForm(
        at=str(one.id),
        id=str(one.id),
        people=_picks(people, {str(one.delegate_id)}),
        queues=_picks(_named(queues), {str(each) for each in one.queues}),
        first_day=first_day(one).isoformat(),
        last_day=last_day(one).isoformat(),
        note=one.note,
    )


def _empty(
    people: Mapping[str, str], queues: Sequence[Queue], now: datetime
) -> LeaveForm:
    return LeaveForm(
        at=NEW,
        people=_picks(people, set()),
        queues=_picks(_named(queues), set()),
        first_day=now.astimezone(UTC).date().isoformat(),
    )


def _named(queues: Sequence[Queue]) -> dict[str, str]:
    return {str(one.id): one.name for one in queues}


def _picks(named: Mapping[str, str], chosen: set[str]) -> tuple[Pick, ...]:
    return tuple(
        Pick(value=value, text=text, chosen=value in chosen)
        for value, text in named.items()
    )


def first_day(one: Delegation) -> date:
    return one.starts_at.astimezone(UTC).date()


def last_day(one: Delegation) -> date:
    """On which it is in force to the end, or as long as it is at all."""
    return (one.ends_at - timedelta(microseconds=1)).astimezone(UTC).date()
