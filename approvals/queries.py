"""Reads that verbs and pages share. All run inside the tenant's scope."""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Count, F, QuerySet

from approvals.models import (
    Decision,
    Grant,
    Pause,
    PolicyRevision,
    Queue,
    Request,
    Revision,
)
from approvals.policy.evaluate import Statement
from approvals.problems import NOT_FOUND
from kernel.clock import ClockTimestamp
from sessions.contract import Contract
from sessions.models import Fact, Run

UNRESOLVED: Final = (
    Request.State.PENDING,
    Request.State.CHANGES_REQUESTED,
    Request.State.APPROVED,
)


def statements() -> list[Statement]:
    """Every policy in force, in a stable order."""
    rows = PolicyRevision.objects.filter(number=F("policy__current"))
    return [
        Statement(
            row.policy_id,
            row.number,
            bytes(row.digest).hex(),
            row.definition,
            None if row.cosigned_by_id else row.author_id,
        )
        for row in rows.order_by("policy_id")
    ]


def fact_values(run: Run) -> dict[str, object]:
    """The run's facts as plain values, for selectors; none whose lifetime is over."""
    contract, age = Contract.of(run.workflow), ClockTimestamp() - F("observed_at")
    rows = Fact.objects.filter(run_id=run.id).annotate(age=age)
    return {
        name: value
        for name, value, seen in rows.values_list("name", "value", "age")
        if not contract.has_lapsed(name, seen.total_seconds())
    }


def lock_request(request_id: UUID) -> Request:
    """The request, locked. Raises `not_found`."""
    row = Request.objects.select_for_update(no_key=True).filter(id=request_id).first()
    if row is None:
        raise NOT_FOUND("No such request.")
    return row


def lock_pause(pause_id: UUID) -> Pause:
    return Pause.objects.select_for_update(no_key=True).get(id=pause_id)


def lock_requests(pause_id: UUID) -> list[Request]:
    """All requests of a pause, locked in the order of their ids."""
    rows = Request.objects.select_for_update(no_key=True).filter(pause_id=pause_id)
    return list(rows.order_by("id"))


def current_revision(request: Request) -> Revision:
    """The wording that is asked now."""
    return Revision.objects.get(request_id=request.id, number=request.revision)


def counted_decisions(revision: Revision) -> list[Decision]:
    """Decisions on the revision that have not been dismissed, oldest first."""
    rows = Decision.objects.filter(revision_id=revision.id, dismissed_at=None)
    return list(rows.order_by("created_at", "id"))


def kept_answers(revision: Revision) -> QuerySet[Decision]:
    """Those that nobody has taken back: whoever is behind one gives no other."""
    return Decision.objects.filter(revision_id=revision.id, taken_back_by=None)


def answers_until_now(request: Request) -> int:
    """A number that grows with each answer, and with each that is taken back."""
    rows = Decision.objects.filter(request_id=request.id)
    found: int = rows.aggregate(n=Count("id") + Count("taken_back_by"))["n"]
    return found


def live_grant(request_id: UUID) -> Grant | None:
    """The request's live grant, locked."""
    rows = Grant.objects.select_for_update(no_key=True)
    return rows.filter(request_id=request_id, state=Grant.State.LIVE).first()


def open_requests(runs: Collection[UUID]) -> dict[UUID, dict[UUID, str]]:
    """By run, its questions that nobody has answered or acted upon yet: their states."""
    found: dict[UUID, dict[UUID, str]] = {}
    unresolved = Request.objects.filter(run_id__in=runs, state__in=UNRESOLVED)
    rows = unresolved.order_by("id").values_list("run_id", "id", "state")
    for run_id, request_id, state in rows:
        found.setdefault(run_id, {})[request_id] = state
    return found


VERSIONS: Final = """
SELECT r.id, concat_ws('|', r.xmin, p.xmin,
    coalesce((SELECT string_agg(g.xmin::text, ',' ORDER BY g.id)
        FROM approvals_grant g WHERE g.request_id = r.id), ''),
    coalesce((SELECT string_agg(e.xmin::text, ',' ORDER BY e.id)
        FROM checkpoints_effect e WHERE e.request = r.id), ''),
    coalesce((SELECT string_agg(j.xmin::text, ',' ORDER BY j.id)
        FROM approvals_resumejob j WHERE j.request_id = r.id), ''),
    coalesce((SELECT string_agg(d.xmin::text, ',' ORDER BY d.id)
        FROM approvals_decision d WHERE d.request_id = r.id), ''),
    (SELECT count(*) FROM approvals_verificationreport v WHERE v.request_id = r.id))
FROM approvals_request r JOIN approvals_pause p ON p.id = r.pause_id
WHERE r.id = ANY(%(ids)s)
UNION ALL
SELECT n.id, n.xmin::text FROM agent_sessions_run n WHERE n.id = ANY(%(ids)s)
UNION ALL
SELECT q.id, coalesce((SELECT md5(string_agg(o.xmin::text, ',' ORDER BY o.id))
    FROM approvals_request o
    WHERE o.queue_id = q.id AND o.state IN ('pending', 'changes_requested')), '')
FROM approvals_queue q WHERE q.id = ANY(%(ids)s)
UNION ALL
SELECT h.tenant_id, h.seq::text FROM audit_head h WHERE h.tenant_id = ANY(%(ids)s)
"""


def versions(ids: Collection[UUID]) -> dict[UUID, str]:
    """For each of these requests, runs, queues and tenants, a text that changes when
    it does; a tenant does with each entry of its audit log.

    A row's `xmin` names the transaction that last wrote it, so that nothing has to be
    read of what a row says. What the tenant does not have is left out.
    """
    with connection.cursor() as cursor:
        cursor.execute(VERSIONS, {"ids": list(ids)})
        return dict(cursor.fetchall())


def queue_for(slug: str | None) -> Queue:
    """The queue by slug; an unknown or missing one falls to the tenant's default."""
    named = Queue.objects.filter(slug=slug).first() if slug else None
    return named or Queue.objects.get(default=True)
