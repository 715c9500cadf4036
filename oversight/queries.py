"""Which runs somebody may look back on. All inside the tenant's scope."""

from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from approvals.access import visible_queues
from approvals.models import Request
from kernel.problems import NOT_FOUND
from sessions.models import Run
from tenants.models import Member

OVERSEERS = frozenset({"owner", "admin", "auditor"})


def visible_requests(viewer: Member) -> QuerySet[Request]:
    """The requests on queues that the member sees."""
    return Request.objects.filter(queue_id__in=visible_queues(viewer))


def visible_runs(viewer: Member) -> QuerySet[Run]:
    """All for those who oversee; for others, runs that asked on a queue they see."""
    if viewer.role in OVERSEERS:
        return Run.objects.all()
    asked = visible_requests(viewer).filter(run_id=OuterRef("id"))
    return Run.objects.filter(Exists(asked))


def visible_run(viewer: Member, run_id: UUID) -> Run:
    """With session, agent and workflow. Raises `not_found` for anyone else's."""
    rows = visible_runs(viewer).select_related("session", "agent", "workflow")
    found = rows.filter(id=run_id).first()
    if found is None:
        raise NOT_FOUND("No such run.")
    return found
