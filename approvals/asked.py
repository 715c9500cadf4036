"""Who is asked about a request now: those who could answer, and who stands in for them."""

from datetime import datetime
from uuid import UUID

from approvals.access import holders
from approvals.delegations import in_force, on_queue
from approvals.envelope import Envelope
from approvals.models import Decision, Queue, Request, Revision
from approvals.separation import Standing, standing
from tenants.access import OVERSEERS
from tenants.models import Group, Member
from tenants.queries import active_members


def asked_now(request: Request, revision: Revision, now: datetime) -> frozenset[UUID]:
    """Members who could turn a key of the revision that is missing, and have not answered.

    Of those on leave also who stands in for them: whom one rule would count as well.
    """
    envelope = Envelope(bytes(revision.envelope))
    stands = standing(request, revision, envelope, envelope.obligation)
    answered = _answered(revision)
    people = frozenset[UUID]().union(*stands.eligible.values()) - answered
    return people | (_instead(request, stands, people, now) - answered)


def _answered(revision: Revision) -> frozenset[UUID]:
    rows = Decision.objects.filter(revision_id=revision.id, dismissed_at=None)
    found: set[UUID] = set()
    for one in rows:
        found.update(filter(None, (one.member_id, one.on_behalf_of_id)))
    return frozenset(found)


def _instead(
    request: Request, stands: Standing, people: frozenset[UUID], now: datetime
) -> frozenset[UUID]:
    rows = in_force(now).filter(on_queue(request.queue_id), delegator__in=people)
    return frozenset(
        one.delegate_id
        for one in rows
        if stands.counts(one.delegator_id, one.delegate_id)
    )


def asked_too(queue: Queue) -> frozenset[UUID]:
    """Whom the queue's escalation asks besides: who may see its requests at all.

    It gives nobody a right: whoever may not decide may still remind those who can.
    """
    seeing = holders(tenant_id=queue.tenant_id, queue_id=queue.id, permission="view")
    overseers = active_members(queue.tenant_id).filter(role__in=OVERSEERS)
    may_see = seeing | frozenset(overseers.values_list("id", flat=True))
    return _named(queue) & may_see


def _named(queue: Queue) -> frozenset[UUID]:
    if queue.escalate_to_queue_id is not None:
        return holders(
            tenant_id=queue.tenant_id,
            queue_id=queue.escalate_to_queue_id,
            permission="decide",
        )
    group = Group.objects.filter(id__in=[queue.escalate_to_group_id])
    rows = Member.objects.filter(user__groups__in=group.values("django_group"))
    return frozenset(rows.values_list("id", flat=True))
