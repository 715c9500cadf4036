"""Who stands in for whom. It moves who is asked; what is required stays as it is.

Read from live rows, by the database's time. There are no chains: whoever stands in for
somebody answers for that one person, and never for those whom that person stands in for.
"""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from approvals.models import Decision, Delegation


def in_force(now: datetime) -> QuerySet[Delegation]:
    """Those between people who are both active and no guests, at the database's time `now`."""
    active = Q(
        delegator__active=True,
        delegator__until=None,
        delegator__user__is_active=True,
        delegate__active=True,
        delegate__until=None,
        delegate__user__is_active=True,
    )
    rows = Delegation.objects.filter(active, ended_at=None)
    return rows.filter(starts_at__lte=now, ends_at__gt=now).order_by("ends_at", "id")


def on_queue(queue_id: UUID) -> Q:
    """Delegations that say nothing of queues are for all of them."""
    return Q(queues=[]) | Q(queues__contains=[queue_id])


def stands_in(
    *, delegate_id: UUID, delegator_id: UUID, queue_id: UUID, now: datetime
) -> Delegation | None:
    """Under which delegation the one may answer for the other now, if under any."""
    rows = in_force(now).filter(delegate_id=delegate_id, delegator_id=delegator_id)
    return rows.filter(on_queue(queue_id)).first()


def held(decisions: Collection[Decision]) -> frozenset[UUID]:
    """Ids of those that were not given for anybody, or under a delegation as it was then.

    What ends it afterwards takes nothing back: the key is that of the person who turned
    it, and it is asked of both people again whether they may.
    """
    named = {one.delegation_id for one in decisions if one.on_behalf_of_id}
    known = Delegation.objects.in_bulk(named - {None}) if named else {}
    return frozenset(
        one.id
        for one in decisions
        if one.on_behalf_of_id is None
        or _was_in_force(known.get(one.delegation_id), one)
    )


def _was_in_force(delegation: Delegation | None, decision: Decision) -> bool:
    if delegation is None:
        return False
    at, ended = decision.created_at, delegation.ended_at
    return (
        delegation.delegator_id == decision.on_behalf_of_id
        and delegation.delegate_id == decision.member_id
        and delegation.starts_at <= at < delegation.ends_at
        and (ended is None or at < ended)
    )


def decider(decision: Decision) -> str:
    """Who answered, and for whom; of a decision that was read with both."""
    if decision.member is None:
        return "Policy"
    who = decision.member.name
    behalf = decision.on_behalf_of
    return f"{who} for {behalf.name}" if behalf else who
