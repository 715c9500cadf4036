"""Which runs somebody may look back on. All inside the tenant's scope."""

from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from approvals.models import Request
from approvals.pages.viewer import Viewer
from kernel.problems import NOT_FOUND
from sessions.models import Run


def visible_requests(viewer: Viewer) -> QuerySet[Request]:
    """The requests on queues that the member sees."""
    return Request.objects.filter(queue_id__in=viewer.sees)


def visible_runs(viewer: Viewer) -> QuerySet[Run]:
    """All for those who oversee; for others, runs that asked on a queue they see."""
    if viewer.membership.oversees:
        return Run.objects.all()
    asked = visible_requests(viewer).filter(run_id=OuterRef("id"))
    return Run.objects.filter(Exists(asked))


def visible_run(viewer: Viewer, run_id: UUID) -> Run:
    """With session, agent and workflow. Raises `not_found` for anyone else's."""
    rows = visible_runs(viewer).select_related("session", "agent", "workflow")
    found = rows.filter(id=run_id).first()
    if found is None:
        raise NOT_FOUND("No such run.")
    return found
