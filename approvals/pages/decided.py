"""What has been decided, newest first: as much of it as anyone wants to turn over."""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.db.models import FETCH_RAISE, Exists, OuterRef, Q, QuerySet

from approvals.models import Decision, Request
from approvals.pages.find import by_external_id
from approvals.pages.selection import SPANS, Selection
from approvals.pages.viewer import Viewer
from kernel.clock import ClockTimestamp

NARROWED: Final = {
    "risk": "risk",
    "queue": "queue__slug",
    "tool": "tool__name",
    "agent": "agent__name",
}


def decided_page(
    viewer: Viewer, selection: Selection, size: int
) -> tuple[list[UUID], str]:
    """Ids of one page, and the cursor of the next ('' for none)."""
    rows = _decided(viewer, selection).filter(_before(selection.after))
    newest = rows.order_by("-decided_at", "-id").only("id", "decided_at")
    found = list(newest.fetch_mode(FETCH_RAISE)[: size + 1])
    page = found[:size]
    return [one.id for one in page], _cursor(page[-1]) if len(found) > size else ""


def count_decided(viewer: Viewer, selection: Selection) -> int:
    """How many there are of it, on all pages."""
    return _decided(viewer, selection).count()


def _decided(viewer: Viewer, selection: Selection) -> QuerySet[Request]:
    rows = Request.objects.filter(
        *map(_says, selection.words), queue_id__in=viewer.sees, decided_at__isnull=False
    )
    narrowed = {
        path: getattr(selection, name)
        for name, path in NARROWED.items()
        if getattr(selection, name)
    }
    return rows.filter(
        _since(selection.age), _answered_by(viewer, selection), **narrowed
    )


def _since(age: str) -> Q:
    return Q(created_at__lte=ClockTimestamp() - SPANS[age]) if age else Q()


def _answered_by(viewer: Viewer, selection: Selection) -> Q:
    """The reader's own decisions, where they want no others."""
    if not selection.mine:
        return Q()
    own = Decision.objects.filter(request_id=OuterRef("id"), member_id=viewer.id)
    return Q(Exists(own.filter(taken_back_by=None)))


def _says(text: str) -> Q:
    """In what is asked, who asks, for which run, who has answered, or as it is known
    outside."""
    answered = Decision.objects.filter(request_id=OuterRef("id")).filter(
        Q(member__name__icontains=text) | Q(member__user__email__icontains=text)
    )
    return (
        Q(title__icontains=text)
        | Q(tool__name__icontains=text)
        | Q(agent__name__icontains=text)
        | Q(run__external_id__icontains=text)
        | Q(Exists(answered))
        | by_external_id(text)
    )


def _cursor(request: Request) -> str:
    assert request.decided_at is not None
    return f"{request.decided_at.isoformat()} {request.id}"


def _before(cursor: str) -> Q:
    """What comes after the cursor's row; a cursor not of our making is none."""
    at, _, id = cursor.partition(" ")
    try:
        moment, last = datetime.fromisoformat(at), UUID(id)
    except ValueError:
        return Q()
    if moment.tzinfo != UTC:
        return Q()
    return Q(decided_at__lt=moment) | Q(decided_at=moment, id__lt=last)
