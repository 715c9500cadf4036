"""Which runs somebody may look back on. All inside the tenant's scope."""

from uuid import UUID

from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from approvals.models import Request, Revision
from approvals.pages.viewer import Viewer
from kernel.problems import NOT_FOUND
from sessions.artifacts import artifacts_of
from sessions.models import Artifact, Run, Session


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


def visible_files(viewer: Viewer, session: Session) -> QuerySet[Artifact]:
    """All for those who oversee; for others, what was there when they were asked last.

    A session may go on to what is asked on queues that they do not see. Raises
    `data_erased` (410).
    """
    return artifacts_of(session).filter(_there_when_asked(viewer, session))


def _there_when_asked(viewer: Viewer, session: Session) -> Q:
    if viewer.membership.oversees:
        return Q()
    asked = visible_requests(viewer).filter(session_id=session.id)
    wordings = Revision.objects.filter(request_id__in=asked.values("id"))
    last = wordings.aggregate(last=Max("created_at"))["last"]
    return Q(created_at__lte=last) if last else Q(pk__in=[])
