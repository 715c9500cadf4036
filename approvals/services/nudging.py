"""Reminding those who are asked, and asking others too, when nobody has answered.

It moves who is asked, never what is required: no right, rule or deadline changes.
"""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection

from approvals.asked import asked_now, asked_too
from approvals.envelope import UNREADABLE
from approvals.models import Nudge, Queue, Request
from approvals.problems import NUDGE_INVALID
from approvals.queries import current_revision
from approvals.services.granting import SYSTEM
from approvals.services.scene import lock_scene_of
from kernel.clock import database_now
from kernel.update import update_exactly_one
from tenants.checks import Acting, permitted
from tenants.models import Group
from tenants.services.change import change, own
from tenants.verbs import Verb, perform

SOONEST: Final = 60  # seconds
LATEST: Final = 30 * 86_400

# Open requests begin to be watched, or are watched by the new times; what has been done
# for the wording that is asked now is not done again.
WATCH: Final = """
INSERT INTO approvals_nudge
  (id, tenant_id, request_id, revision, remind_at, escalate_at, due_at, asked_too)
SELECT gen_random_uuid(), r.tenant_id, r.id, r.revision, t.remind, t.escalate,
  least(t.remind, t.escalate), '{}'
FROM approvals_request r
JOIN approvals_revision v ON v.request_id = r.id AND v.number = r.revision
CROSS JOIN LATERAL (SELECT
  v.created_at + %(remind)s * interval '1 second' AS remind,
  v.created_at + %(escalate)s * interval '1 second' AS escalate) t
WHERE r.queue_id = %(queue)s AND r.state = 'pending'
ON CONFLICT (tenant_id, request_id) DO UPDATE SET
  revision = excluded.revision, remind_at = excluded.remind_at,
  escalate_at = excluded.escalate_at, due_at = least(
    CASE WHEN approvals_nudge.reminded_at IS NULL THEN excluded.remind_at END,
    CASE WHEN approvals_nudge.escalated_at IS NULL THEN excluded.escalate_at END)
"""


def set_nudges(
    *,
    tenant_id: UUID,
    by: Acting,
    queue_id: UUID,
    remind_after: int | None = None,
    escalate_after: int | None = None,
    group_id: UUID | None = None,
    to_queue_id: UUID | None = None,
) -> Queue:
    """After how many seconds a queue's people are reminded, and whom it asks too, when.

    Counts at once for what waits there. Raises `nudge_invalid` (422) with a pointer, and
    `not_found` (404) for a queue or group that is not the tenant's.
    """
    times = {"remind_after": remind_after, "escalate_after": escalate_after}
    targets = {"escalate_to_group_id": group_id, "escalate_to_queue_id": to_queue_id}

    def work(verb: Verb) -> Queue:
        actor = permitted(tenant_id, by)
        queue = own(Queue, tenant_id, queue_id)
        _check(tenant_id, queue_id, times, group_id, to_queue_id)
        update_exactly_one(Queue.objects.filter(id=queue_id), **times, **targets)
        _watch(queue_id, remind_after, escalate_after)
        data = {**times, **{name: id and str(id) for name, id in targets.items()}}
        subject = ("queue", queue_id)
        verb.record("queue.nudges_set", actor=actor, subject=subject, data=data)
        queue.refresh_from_db()
        return queue

    return change(tenant_id, work)


def _check(
    tenant_id: UUID,
    queue_id: UUID,
    times: dict[str, int | None],
    group_id: UUID | None,
    to_queue_id: UUID | None,
) -> None:
    for name, seconds in times.items():
        if seconds is not None and not SOONEST <= seconds <= LATEST:
            raise NUDGE_INVALID("From a minute to 30 days.", f"/{name}")
    targets = (group_id is not None) + (to_queue_id is not None)
    if targets != (times["escalate_after"] is not None):
        raise NUDGE_INVALID(
            "A time, and whom to ask then: both or none.", "/escalate_to"
        )
    if to_queue_id == queue_id:
        raise NUDGE_INVALID("They are asked already.", "/escalate_to")
    if group_id is not None:
        own(Group, tenant_id, group_id)
    if to_queue_id is not None:
        own(Queue, tenant_id, to_queue_id)


def _watch(queue_id: UUID, remind: int | None, escalate: int | None) -> None:
    values = {"queue": queue_id, "remind": remind, "escalate": escalate}
    with connection.cursor() as cursor:
        cursor.execute(WATCH, values)


def nudge(tenant_id: UUID, nudge_id: UUID) -> None:
    """What is due of one request: once each, whoever else looks at the same time."""

    def work(verb: Verb) -> None:
        found = Nudge.objects.get(id=nudge_id)
        request = lock_scene_of(found.request_id)
        found.refresh_from_db()
        now = database_now()
        if found.due_at is None or now < found.due_at:
            return
        if _waits(request, found, now):
            _remind(verb, request, found, now)
            _escalate(verb, request, found, now)
        else:
            Nudge.objects.filter(id=found.id).update(due_at=None)

    perform(tenant_id, work)


def _waits(request: Request, nudge: Nudge, now: datetime) -> bool:
    """Whether people are still asked for this wording; in time, by the clock."""
    pending = request.state == Request.State.PENDING
    current = request.revision == nudge.revision
    return pending and current and request.due_at is not None and now < request.due_at


def _remind(verb: Verb, request: Request, nudge: Nudge, now: datetime) -> None:
    if nudge.reminded_at is not None or not _is_due(nudge.remind_at, now):
        return
    people = _asked(request, now)
    _done(nudge, now, reminded_at=now)
    if people:
        _record(verb, request, nudge, "request.reminded", people, now)


def _asked(request: Request, now: datetime) -> frozenset[UUID]:
    """Nobody where what is asked cannot be read: no key of theirs would turn."""
    try:
        return asked_now(request, current_revision(request), now)
    except UNREADABLE:
        return frozenset()


def _escalate(verb: Verb, request: Request, nudge: Nudge, now: datetime) -> None:
    if nudge.escalated_at is not None or not _is_due(nudge.escalate_at, now):
        return
    queue = Queue.objects.get(id=request.queue_id)
    people = asked_too(queue)
    _done(nudge, now, escalated_at=now, asked_too=sorted(people))
    _record(verb, request, nudge, "request.escalated", people, now)
    verb.changed(request.queue_id)


def _is_due(at: datetime | None, now: datetime) -> bool:
    return at is not None and at <= now


def _done(nudge: Nudge, now: datetime, **values: object) -> None:
    """With the time of what is still to come, if anything is."""
    for name, value in values.items():
        setattr(nudge, name, value)
    reminding = nudge.remind_at if nudge.reminded_at is None else None
    escalating = nudge.escalate_at if nudge.escalated_at is None else None
    due = min(filter(None, (reminding, escalating)), default=None)
    update_exactly_one(Nudge.objects.filter(id=nudge.id), due_at=due, **values)


def _record(
    verb: Verb,
    request: Request,
    nudge: Nudge,
    kind: str,
    people: frozenset[UUID],
    now: datetime,
) -> None:
    """`members` are those whom it concerns, for whoever tells them."""
    asked_at = current_revision(request).created_at
    verb.record(
        kind,
        actor=SYSTEM,
        subject=("request", request.id),
        data={
            "run": str(request.run_id),
            "revision": nudge.revision,
            "waited": int((now - asked_at) / timedelta(seconds=1)),
            "members": sorted(map(str, people)),
        },
    )
    verb.changed(request.id)
