"""Who may do what on a queue, and who never decides for a request.

Always read from live rows by explicit ids: guardian's own checks let a superuser
and model-wide permissions through, and instances cache what they once saw.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Q

from approvals.models import Queue
from approvals.policy import Eligible, Rule
from approvals.policy.satisfy import Eligibility
from tenants.access import OVERSEERS, Membership
from tenants.models import AgentOwner, Group, Member

HOLDERS = """
SELECT m.id
FROM tenants_member m
JOIN tenants_user u ON u.id = m.user_id
WHERE m.tenant_id = %(tenant)s AND m.active AND u.is_active AND m.until IS NULL AND (
  EXISTS (
    SELECT FROM approvals_queueuserpermission p
    JOIN auth_permission a ON a.id = p.permission_id
    WHERE p.tenant_id = m.tenant_id AND p.content_object_id = %(queue)s
      AND p.user_id = m.user_id AND a.codename = %(permission)s)
  OR EXISTS (
    SELECT FROM approvals_queuegrouppermission p
    JOIN auth_permission a ON a.id = p.permission_id
    JOIN tenants_user_groups g ON g.group_id = p.group_id
    WHERE p.tenant_id = m.tenant_id AND p.content_object_id = %(queue)s
      AND g.user_id = m.user_id AND a.codename = %(permission)s))
"""


def holders(*, tenant_id: UUID, queue_id: UUID, permission: str) -> frozenset[UUID]:
    """Ids of the active members who hold `permission` on the queue now. No guests."""
    with connection.cursor() as cursor:
        cursor.execute(
            HOLDERS, {"tenant": tenant_id, "queue": queue_id, "permission": permission}
        )
        return frozenset(row[0] for row in cursor.fetchall())


HOLDING: Final = """
SELECT h.queue, count(*) FROM (
  SELECT p.content_object_id AS queue, p.user_id
  FROM approvals_queueuserpermission p JOIN auth_permission a ON a.id = p.permission_id
  WHERE p.tenant_id = %(tenant)s AND a.codename = %(permission)s
  UNION
  SELECT p.content_object_id, g.user_id
  FROM approvals_queuegrouppermission p JOIN auth_permission a ON a.id = p.permission_id
  JOIN tenants_user_groups g ON g.group_id = p.group_id
  WHERE p.tenant_id = %(tenant)s AND a.codename = %(permission)s) h
JOIN tenants_member m ON m.user_id = h.user_id AND m.tenant_id = %(tenant)s
JOIN tenants_user u ON u.id = m.user_id
WHERE m.active AND u.is_active AND m.until IS NULL
GROUP BY h.queue
"""


def how_many_hold(*, tenant_id: UUID, permission: str) -> Mapping[UUID, int]:
    """How many `holders` each queue has, in one statement; a queue with none is not in it."""
    with connection.cursor() as cursor:
        cursor.execute(HOLDING, {"tenant": tenant_id, "permission": permission})
        return dict(cursor.fetchall())


def may(member: Member, permission: str, queue_id: UUID) -> bool:
    """Whether the member holds the permission on the queue now."""
    return member.id in holders(
        tenant_id=member.tenant_id, queue_id=queue_id, permission=permission
    )


HELD = """
SELECT h.codename, h.content_object_id FROM (
  SELECT a.codename, p.content_object_id
  FROM approvals_queueuserpermission p JOIN auth_permission a ON a.id = p.permission_id
  WHERE p.tenant_id = %(tenant)s AND p.user_id = %(user)s
  UNION
  SELECT a.codename, p.content_object_id
  FROM approvals_queuegrouppermission p JOIN auth_permission a ON a.id = p.permission_id
  JOIN tenants_user_groups g ON g.group_id = p.group_id
  WHERE p.tenant_id = %(tenant)s AND g.user_id = %(user)s) h
WHERE EXISTS (
  SELECT FROM tenants_member m
  WHERE m.tenant_id = %(tenant)s AND m.user_id = %(user)s AND m.until IS NULL)
"""


def rights(member: Member | Membership) -> Mapping[str, frozenset[UUID]]:
    """The queues on which the member holds each right now, in one statement. A guest
    holds none."""
    held: dict[str, set[UUID]] = defaultdict(set)
    with connection.cursor() as cursor:
        cursor.execute(HELD, {"tenant": member.tenant_id, "user": member.user_id})
        for right, queue in cursor.fetchall():
            held[right].add(queue)
    return {right: frozenset(queues) for right, queues in held.items()}


def visible_queues(member: Member) -> list[UUID]:
    """Ids of the queues whose requests the member may see."""
    if member.role in OVERSEERS:
        return list(Queue.objects.values_list("id", flat=True))
    return list(rights(member).get("view", ()))


def rights_on(queue_id: UUID, member: Member) -> frozenset[str]:
    """What the member may do with requests of the queue now."""
    return frozenset(right for right, on in rights(member).items() if queue_id in on)


def rights_there(member: Member, queue_id: UUID) -> frozenset[str] | None:
    """What an active member may do with requests of one of the tenant's queues; None
    where they may not even see them."""
    held = rights_on(queue_id, member)
    sees = member.active and (member.role in OVERSEERS or "view" in held)
    return held if sees else None


def tenant_groups(member: Member | Membership) -> list[UUID]:
    """Ids of the tenant's groups that the member is in."""
    rows = Group.objects.filter(django_group__user=member.user_id)
    return list(rows.values_list("id", flat=True))


def eligibility(
    rules: Iterable[Rule], *, tenant_id: UUID, queue_id: UUID, excluded: frozenset[UUID]
) -> Eligibility:
    """For each rule, who may count for it now."""
    return {
        rule: _eligible(rule.eligible, tenant_id, queue_id) - excluded for rule in rules
    }


def eligible_people(eligible: Eligible, queue: Queue) -> frozenset[UUID]:
    """Who could answer for such a rule on the queue, whoever asks."""
    return _eligible(eligible, queue.tenant_id, queue.id)


def _eligible(eligible: Eligible, tenant_id: UUID, queue_id: UUID) -> frozenset[UUID]:
    people = holders(
        tenant_id=tenant_id, queue_id=queue_id, permission=eligible.permission
    )
    if eligible.groups:
        people &= _in_groups(eligible.groups)
    if eligible.members:
        people &= eligible.members
    return people


def _in_groups(groups: frozenset[UUID]) -> frozenset[UUID]:
    wrapped = Group.objects.filter(id__in=groups).values("django_group")
    members = Member.objects.filter(user__groups__in=wrapped)
    return frozenset(members.values_list("id", flat=True))


def owners_since(agent_id: UUID, since: datetime) -> frozenset[UUID]:
    """Member ids who own the agent, or have owned it at any time since then."""
    return frozenset(
        AgentOwner.objects.filter(agent_id=agent_id)
        .filter(Q(until=None) | Q(until__gte=since))
        .values_list("member_id", flat=True)
    )
