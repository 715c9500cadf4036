"""From one request to the next: which it is, and what is said there of the one before."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db.models import F

from approvals.models import Decision, Request
from approvals.pages.addresses import address, short_name
from approvals.pages.index import Entry
from approvals.pages.selection import Selection
from approvals.pages.viewer import Viewer
from approvals.presentation.shell import Notice
from approvals.states import APPROVED
from checkpoints.models import Tool

S = Request.State


def following(entries: Sequence[Entry], id: UUID) -> UUID | None:
    """What needs the viewer's key after this request in the list, or else before it."""
    ids = [entry.id for entry in entries]
    at = ids.index(id) if id in ids else -1
    others = (*entries[at + 1 :], *entries[: max(at, 0)])
    return next((entry.id for entry in others if entry.mine), None)


def earlier(viewer: Viewer, selection: Selection, said: str) -> Notice | None:
    """What became of the request that the viewer answered before this page.

    `said` is of an address, so only what is so by now is told, and only to who has
    answered that very wording and may see it.
    """
    try:
        answer = _answer_of(viewer, UUID(said))
    except ValueError:
        return None
    if answer is None:
        return None
    found = answer.request
    return Notice(
        title=f"{short_name('REQ', found.id)}: {BECAME[S(found.state)]}",
        sentence=_consequence(found),
        icon="key-turned" if found.state in APPROVED else "check",
        href=address("case", viewer.slug, found.id, query=selection.query),
        link="See what comes of it" if found.state in APPROVED else "Look at it",
        said=answer.reason,
    )


def underway(id: UUID) -> Notice:
    """What is said in the same place, until it is known what became of it."""
    return Notice(
        title=f"{short_name('REQ', id)}: your answer is on its way",
        sentence="Once it is recorded, you can answer here.",
        icon="clock",
    )


def _answer_of(viewer: Viewer, request_id: UUID) -> Decision | None:
    """The viewer's own that counts on what is asked now; none of what is erased."""
    rows = Decision.objects.filter(
        request_id=request_id,
        request__queue_id__in=viewer.sees,
        request__session__erased_at=None,
        revision__number=F("request__revision"),
        member_id=viewer.id,
        dismissed_at=None,
    )
    return rows.select_related("request__tool").order_by("-created_at", "-id").first()


BECAME: Final = {
    S.PENDING: "your answer is recorded",
    S.CHANGES_REQUESTED: "changes were asked for",
    S.APPROVED: "approved",
    S.REJECTED: "rejected",
    S.ANSWERED: "answered",
    S.EXPIRED: "nobody decided in time",
    S.CANCELLED: "withdrawn",
    S.SUPERSEDED: "superseded",
    S.CONSUMED: "approved",
    S.REVOKED: "the approval was revoked",
    S.LAPSED: "the approval was not used in time",
}


def _consequence(request: Request) -> str:
    if request.state == S.PENDING:
        return "It waits for others."
    if request.state == S.APPROVED:
        return "Four checks come before anything happens. Until then it can be revoked."
    if request.state == S.CONSUMED:
        return "All four checks held."
    managed = request.tool.mode == Tool.Mode.MANAGED
    return "Nothing was sent." if managed else "Nothing was permitted."
