"""What people do about a request besides deciding: say something, be on it, give it.

None of it changes what may happen. No agent is told of it.
"""

from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q

from approvals.access import may, visible_queues
from approvals.models import Comment, Request
from approvals.problems import (
    CANNOT_BE_GIVEN,
    COMMENT_INVALID,
    NO_RIGHT,
    NOT_FOUND,
    NOT_PENDING,
    TAKEN,
)
from approvals.states import OPEN
from kernel.clock import ClockTimestamp
from sessions.models import Session
from sessions.queries import locked
from sessions.redaction import redacted_text
from sessions.vault import session_fingerprint
from tenants.idempotency import Once
from tenants.models import Member
from tenants.principal import Person
from tenants.vault import DATA_ERASED
from tenants.verbs import Verb, perform

LONGEST: Final = 4_000  # characters of a comment
TAKEN_FOR: Final = timedelta(minutes=15)
GIVEN_FOR: Final = timedelta(hours=8)


def comment(
    person: Person, *, request_id: UUID, text: str, once: Once | None = None
) -> Comment:
    """Say something to all who see the request; secrets are cut out of it.

    Raises `comment_invalid`, `not_found`, `data_erased`.
    """
    said = text.strip()
    if not said or len(said) > LONGEST or "\0" in said:
        raise COMMENT_INVALID("Nothing was recorded.", "/text")

    def work(verb: Verb) -> Comment:
        member, request = _seen(person, request_id)
        if member.until is not None:
            raise NO_RIGHT("A guest reads, and says nothing here.")
        _not_erased(request)
        kept = Comment.objects.create(
            tenant_id=person.tenant_id,
            request=request,
            member=member,
            text=redacted_text(said, person.tenant_id),
        )
        _record_comment(verb, person, request, kept)
        return kept

    return perform(person.tenant_id, work, once=once)


def take(person: Person, *, request_id: UUID, once: Once | None = None) -> None:
    """Tell the others that this person is on it, for a quarter of an hour from now.

    It binds nobody. Raises `not_found`, `not_permitted`, `already_decided`, and `taken`
    while somebody else is on it.
    """

    def work(verb: Verb) -> None:
        member, request = _decidable(person, request_id)
        _be_on_it(request, member, member, TAKEN_FOR)
        _record(verb, person, request, "request.taken")

    perform(person.tenant_id, work, once=once)


def assign(
    person: Person, *, request_id: UUID, to: UUID, once: Once | None = None
) -> None:
    """Ask another person who decides on the queue to look, for eight hours from now.

    It binds nobody. Raises `not_found`, `not_permitted`, `already_decided`,
    `cannot_be_given`, and `taken` while a third person is on it.
    """

    def work(verb: Verb) -> None:
        member, request = _decidable(person, request_id)
        receiver = Member.objects.filter(id=to, active=True).first()
        if receiver is None or not may(receiver, "decide", request.queue_id):
            raise CANNOT_BE_GIVEN("Choose somebody who decides on its queue.", "/to")
        _be_on_it(request, receiver, member, GIVEN_FOR)
        _record(verb, person, request, "request.assigned", to=str(to))

    perform(person.tenant_id, work, once=once)


def release(person: Person, *, request_id: UUID, once: Once | None = None) -> None:
    """Not on it any more; where this person was not, nothing changes.

    Raises `not_found`, `not_permitted`.
    """

    def work(verb: Verb) -> None:
        member, request = _decidable(person, request_id)
        rows = Request.objects.filter(id=request.id, taken_by=member.id)
        if rows.update(taken_by=None, taken_until=None):
            _record(verb, person, request, "request.released")

    perform(person.tenant_id, work, once=once)


def _seen(person: Person, request_id: UUID) -> tuple[Member, Request]:
    member = Member.objects.get(id=person.member_id)
    request = Request.objects.filter(id=request_id).first()
    unseen = request is None or request.queue_id not in visible_queues(member)
    if request is None or unseen or not member.active:
        raise NOT_FOUND("No such request.")
    return member, request


def _decidable(person: Person, request_id: UUID) -> tuple[Member, Request]:
    member, request = _seen(person, request_id)
    if not may(member, "decide", request.queue_id):
        raise NO_RIGHT("You see this queue but do not decide on it.")
    return member, request


def _not_erased(request: Request) -> None:
    """With the session's lock, so that nothing is said after all has been purged."""
    session = locked(Session).get(id=request.session_id)
    if session.erased_at is not None:
        raise DATA_ERASED()


def _be_on_it(request: Request, who: Member, by: Member, span: timedelta) -> None:
    """Unless somebody else than `by` and `who` is."""
    free = Q(taken_by=None) | Q(taken_by__in=[who.id, by.id])
    rows = Request.objects.filter(id=request.id, state__in=OPEN)
    count = rows.filter(free | Q(taken_until__lte=ClockTimestamp())).update(
        taken_by=who, taken_until=ClockTimestamp() + span
    )
    if not count:
        raise _why_not(request.id)


def _why_not(request_id: UUID) -> Exception:
    """Read after the UPDATE that changed nothing."""
    now = Request.objects.select_related("taken_by").get(id=request_id)
    if now.state not in OPEN:
        return NOT_PENDING(f"This is {now.state}.", state=now.state)
    who = now.taken_by.name if now.taken_by else "Somebody"
    return TAKEN(f"{who} is on it. It can be decided all the same.")


def _record(
    verb: Verb, person: Person, request: Request, kind: str, **data: str
) -> None:
    subject = ("request", request.id)
    verb.record(kind, actor=person.actor, subject=subject, data=data)
    verb.changed(request.id, request.queue_id)


def _record_comment(
    verb: Verb, person: Person, request: Request, kept: Comment
) -> None:
    """Its digest alone: the text can be erased, the chain cannot."""
    said = kept.text.encode()
    about = {
        "request": str(request.id),
        "text": session_fingerprint(person.tenant_id, request.session_id, said),
    }
    verb.record(
        "comment.recorded",
        actor=person.actor,
        subject=("comment", kept.id),
        data=about,
    )
    verb.changed(kept.request_id)
