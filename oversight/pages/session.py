"""What the session of a run keeps, as values for its page."""

from typing import Final
from uuid import UUID

from django.db.models import FETCH_RAISE, Q
from django.urls import reverse

from approvals.pages.addresses import address, short_name
from approvals.pages.viewer import Viewer
from approvals.presentation.shell import Empty, Pages
from kernel.clock import database_now
from oversight.pages.runs import cursor_of, older_than
from oversight.presentation.session import FileRow, HoldRow, SessionView
from oversight.queries import visible_files, visible_run
from sessions.models import Artifact, Hold, Run, Session

PAGE: Final = 50
NO_FILES: Final = Empty(
    title="No file is kept here",
    sentence="What its agent puts beside the items of the session stands here.",
    icon="file",
)


def session_view(viewer: Viewer, run_id: UUID, *, after: str = "") -> SessionView:
    """Raises `not_found` for a run that the member may not see."""
    run, slug = visible_run(viewer, run_id), viewer.slug
    session = run.session
    found = _files(viewer, session, after)
    rows = tuple(_file(one, slug, run.id) for one in found[:PAGE])
    last = found[PAGE - 1] if len(found) > PAGE else None
    may = viewer.membership.administers and session.erased_at is None
    return SessionView(
        label=short_name("SES", session.id),
        run_label=short_name("RUN", run.id),
        run_href=address("run", slug, run.id),
        runs_href=address("runs", slug),
        title=session.title,
        now=database_now(),
        files=rows,
        empty=None if rows else NO_FILES,
        pages=_pages(slug, run, after, len(rows), last),
        holds=tuple(_holds(viewer, run)),
        hold_href=address("hold", slug, run.id) if may else "",
        erased_at=session.erased_at,
    )


def _files(viewer: Viewer, session: Session, after: str) -> list[Artifact]:
    if session.erased_at is not None:
        return []
    rows = visible_files(viewer, session).filter(older_than(after))
    newest = rows.order_by("-created_at", "-id").fetch_mode(FETCH_RAISE)
    return list(newest[: PAGE + 1])


def _file(artifact: Artifact, slug: str, run_id: UUID) -> FileRow:
    place = {"slug": slug, "id": run_id, "digest": artifact.digest}
    return FileRow(
        href=reverse("file", kwargs=place),
        name=artifact.name,
        media_type=artifact.media_type,
        size=artifact.size,
        digest=artifact.digest,
        put_at=artifact.created_at,
        expires_at=artifact.expires_at,
    )


def _pages(slug: str, run: Run, after: str, shown: int, last: Artifact | None) -> Pages:
    here = address("session", slug, run.id)
    following = {"after": cursor_of(last)} if last else {}
    return Pages(
        shown=shown,
        previous_href=here if after else "",
        next_href=address("session", slug, run.id, query=following) if last else "",
    )


def _holds(viewer: Viewer, run: Run) -> list[HoldRow]:
    """Of the session and of all its tenant; only who oversees learns why."""
    in_force = Hold.objects.filter(lifted_at=None)
    rows = in_force.filter(Q(session=run.session_id) | Q(session=None))
    lift = address("lift_hold", viewer.slug, run.id)
    member = viewer.membership
    return [
        HoldRow(
            id=str(one.id),
            reason=one.reason if member.oversees else "",
            placed_at=one.created_at,
            of_tenant=one.session_id is None,
            href=lift if member.administers and one.session_id else "",
        )
        for one in rows.order_by("created_at", "id")
    ]
