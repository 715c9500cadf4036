"""Afterwards a second person says what they think of a glass that was broken.

It changes nothing that happened. Until somebody has, it is counted as open.
"""

from typing import Final
from uuid import UUID

from approvals.access import owners_since, rights_on, visible_queues
from approvals.envelope import UNREADABLE, Envelope
from approvals.glass import RIGHT, glass_side
from approvals.models import Comment, Decision
from approvals.problems import (
    COMMENT_INVALID,
    NO_RIGHT,
    NOT_FOUND,
    OWN_REQUEST,
    REVIEW_UNKNOWN,
    REVIEWED_BEFORE,
)
from approvals.services.remarks import LONGEST
from kernel.clock import ClockTimestamp
from sessions.models import Session
from sessions.queries import locked
from sessions.redaction import redacted_text
from sessions.vault import session_fingerprint
from tenants.access import OVERSEERS
from tenants.idempotency import Once
from tenants.models import ApiKey, Member
from tenants.principal import Person
from tenants.verbs import Verb, perform

REVIEWED: Final = "approval.post_reviewed"


def review_broken_glass(
    person: Person,
    *,
    decision_id: UUID,
    review: str,
    words: str,
    once: Once | None = None,
) -> Decision:
    """Acknowledge it or object, in words; secrets are cut out of them.

    Where the session has been erased, the words are not kept. Raises `review_unknown`,
    `comment_invalid`, `not_found`, `not_permitted`, `own_request`, `reviewed_before`.
    """
    said = words.strip()
    if review not in Decision.Review.values:
        raise REVIEW_UNKNOWN("Say which.", "/review")
    if not said or len(said) > LONGEST or "\0" in said:
        raise COMMENT_INVALID("Nothing was recorded.", "/words")

    def work(verb: Verb) -> Decision:
        member, decision = seen_broken(person, decision_id)
        session = locked(Session).get(id=decision.request.session_id)
        judge_reviewing(member, decision)
        _mark(member, decision, review)
        text = redacted_text(said, person.tenant_id)
        told = _kept(member, decision, text) if session.erased_at is None else {}
        verb.record(
            REVIEWED,
            actor=person.actor,
            subject=("decision", decision.id),
            data={"request": str(decision.request_id), "review": review, **told},
        )
        verb.changed(decision.request_id)
        return decision

    return perform(person.tenant_id, work, once=once)


def seen_broken(person: Person, decision_id: UUID) -> tuple[Member, Decision]:
    """Raises `not_found` for what is none, or on a queue that the person does not see."""
    member = Member.objects.get(id=person.member_id)
    rows = Decision.objects.select_related("request", "revision")
    decision = rows.filter(id=decision_id, broke_glass=True).first()
    queues = visible_queues(member) if member.active else []
    if decision is None or decision.request.queue_id not in queues:
        raise NOT_FOUND("Nothing of the kind.")
    return member, decision


def judge_reviewing(member: Member, decision: Decision) -> None:
    """Another person, of neither side. Raises as `review_broken_glass`."""
    rights = rights_on(decision.request.queue_id, member)
    if member.role not in OVERSEERS and not rights & {"decide", RIGHT}:
        raise NO_RIGHT("You see this queue but do not decide on it.")
    if member.until is not None:
        raise NO_RIGHT("A guest reads, and says nothing here.")
    if member.id == decision.member_id:
        raise OWN_REQUEST("Somebody else looks into what you did.")
    if member.id in _side(decision):
        raise OWN_REQUEST("You are on the side that asked.")


def _side(decision: Decision) -> frozenset[UUID]:
    """Where the wording cannot be read any more, by the rows that are left."""
    request, revision = decision.request, decision.revision
    envelope = Envelope(bytes(revision.envelope))
    try:
        return glass_side(request, revision, envelope, envelope.obligation)
    except UNREADABLE:
        creator = ApiKey.objects.get(id=request.key_id).created_by_id
        owners = owners_since(request.agent_id, request.created_at)
        return owners | ({creator} if creator else set())


def _mark(member: Member, decision: Decision, review: str) -> None:
    """Of all who try, one is first."""
    count = Decision.objects.filter(id=decision.id, reviewed_at=None).update(
        review=review, reviewed_by=member, reviewed_at=ClockTimestamp()
    )
    if not count:
        raise REVIEWED_BEFORE("It is done.")


def _kept(member: Member, decision: Decision, text: str) -> dict[str, str]:
    """The words, beside the request and erased with it; the log has their fingerprint."""
    comment = Comment.objects.create(
        tenant_id=decision.tenant_id,
        request_id=decision.request_id,
        member=member,
        text=text,
    )
    session = decision.request.session_id
    fingerprint = session_fingerprint(decision.tenant_id, session, text.encode())
    return {"comment": str(comment.id), "text": fingerprint}
