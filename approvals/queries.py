"""Reads that verbs and pages share. All run inside the tenant's scope."""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from django.db.models import F

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
from sessions.models import Fact

UNRESOLVED: Final = (
    Request.State.PENDING,
    Request.State.CHANGES_REQUESTED,
    Request.State.APPROVED,
)


def statements() -> list[Statement]:
    """Every policy in force, in a stable order."""
    rows = PolicyRevision.objects.filter(number=F("policy__current"))
    return [
        Statement(row.policy_id, row.number, bytes(row.digest).hex(), row.definition)
        for row in rows.order_by("policy_id")
    ]


def fact_values(run_id: UUID) -> dict[str, object]:
    """The run's facts as plain values, for selectors and preconditions."""
    return dict(Fact.objects.filter(run_id=run_id).values_list("name", "value"))


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


def live_grant(request_id: UUID) -> Grant | None:
    """The request's live grant, locked."""
    rows = Grant.objects.select_for_update(no_key=True)
    return rows.filter(request_id=request_id, state=Grant.State.LIVE).first()


def open_requests(runs: Collection[UUID]) -> dict[UUID, list[UUID]]:
    """By run, its questions that nobody has answered or acted upon yet."""
    found: dict[UUID, list[UUID]] = {}
    unresolved = Request.objects.filter(run_id__in=runs, state__in=UNRESOLVED)
    for run_id, request_id in unresolved.order_by("id").values_list("run_id", "id"):
        found.setdefault(run_id, []).append(request_id)
    return found


def queue_for(slug: str | None) -> Queue:
    """The queue by slug; an unknown or missing one falls to the tenant's default."""
    named = Queue.objects.filter(slug=slug).first() if slug else None
    return named or Queue.objects.get(default=True)
