"""What the agent was last allowed to do with the same tool: a measure for what it asks."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q, QuerySet

from approvals.envelope import Envelope
from approvals.models import Request, Revision
from approvals.pages.viewer import Viewer
from approvals.states import APPROVED


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """An earlier request that was approved, and the sealed record that was."""

    id: UUID
    decided_at: datetime | None
    envelope: Envelope


def alike_to(
    viewer: Viewer, request: Request, supposed: UUID | None = None
) -> Alike | None:
    """The last one asked before `request` that the viewer may see, in one statement.

    `supposed` is a request that is taken as approved.
    """
    approved = Q(request__state__in=APPROVED) | Q(request_id=supposed)
    found = (
        _alike(viewer, request)
        .filter(approved)
        .values_list("request_id", "request__decided_at", "envelope", "digest")
    )
    first = found.first()
    if first is None:
        return None
    id, at, content, digest = first
    sealed = Envelope(bytes(content))
    if not sealed.is_intact(bytes(digest)):
        return None
    return Alike(id=id, decided_at=at, envelope=sealed)


def last_alike(viewer: Viewer, request: Request) -> UUID | None:
    """Which request that is now."""
    approved = _alike(viewer, request).filter(request__state__in=APPROVED)
    return approved.values_list("request_id", flat=True).first()


def _alike(viewer: Viewer, request: Request) -> QuerySet[Revision]:
    rows = Revision.objects.filter(
        number=F("request__revision"),
        request__agent_id=request.agent_id,
        request__tool_id=request.tool_id,
        request__queue_id__in=viewer.sees,
        request__created_at__lt=request.created_at,
        request__session__erased_at=None,
    )
    return rows.order_by("-request__created_at", "-request__id")
