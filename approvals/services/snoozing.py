"""Putting a request aside, in one's own view: nobody else's list and no deadline changes."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from approvals.access import visible_queues
from approvals.models import Request, Snooze
from approvals.problems import NO_RIGHT, NOT_FOUND, NOT_PENDING, SNOOZE_INVALID
from approvals.queries import answers_until_now
from approvals.states import OPEN
from kernel.clock import database_now
from tenants.idempotency import Once
from tenants.models import Member
from tenants.principal import Person
from tenants.verbs import Verb, perform

SHORTEST: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(days=30)


def snooze(
    person: Person, *, request_id: UUID, length: timedelta, once: Once | None = None
) -> Snooze:
    """Out of the person's lists from now on for that long, or until it changes.

    Raises `not_found`, `not_permitted` for a guest, `already_decided`, and `snooze_invalid` where it would come back
    only after its deadline: what is put aside is still answered in time.
    """

    def work(verb: Verb) -> Snooze:
        request = _seen(person, request_id)
        if request.state not in OPEN or request.due_at is None:
            raise NOT_PENDING(f"This is {request.state}.", state=request.state)
        until = database_now() + length
        if not SHORTEST <= length <= LONGEST or until >= request.due_at:
            raise SNOOZE_INVALID("It would come back too late to be decided.")
        kept = _keep(person, request, until=until)
        data = {"until": until.isoformat(), "revision": request.revision}
        _record(verb, person, request, "request.snoozed", data)
        return kept

    return perform(person.tenant_id, work, once=once)


def wake(person: Person, *, request_id: UUID, once: Once | None = None) -> None:
    """Back into the person's lists; where it was not put aside, nothing changes.

    Raises `not_found`.
    """

    def work(verb: Verb) -> None:
        request = _seen(person, request_id)
        rows = Snooze.objects.filter(member_id=person.member_id, request=request)
        if rows.delete()[0]:
            _record(verb, person, request, "request.woken", {})

    perform(person.tenant_id, work, once=once)


def _seen(person: Person, request_id: UUID) -> Request:
    member = Member.objects.get(id=person.member_id)
    request = Request.objects.filter(id=request_id).first()
    unseen = request is None or request.queue_id not in visible_queues(member)
    if request is None or unseen or not member.active:
        raise NOT_FOUND("No such request.")
    if member.until is not None:
        raise NO_RIGHT("A guest changes nothing here.")
    return request


def _keep(person: Person, request: Request, *, until: object) -> Snooze:
    """What it is now, so that it is back as soon as that is not so any more."""
    as_it_is = {
        "until": until,
        "revision": request.revision,
        "state": request.state,
        "answers": answers_until_now(request),
    }
    kept, _ = Snooze.objects.update_or_create(
        tenant_id=person.tenant_id,
        member_id=person.member_id,
        request=request,
        defaults=as_it_is,
    )
    return kept


def _record(
    verb: Verb, person: Person, request: Request, kind: str, data: dict[str, object]
) -> None:
    """Only the person's own pages look different."""
    verb.record(kind, actor=person.actor, subject=("request", request.id), data=data)
    verb.changed(request.id)
