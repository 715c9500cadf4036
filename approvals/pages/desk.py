"""List, case and frame of one page, read together, or one of them to be exchanged."""

from dataclasses import dataclass, replace
from uuid import UUID

from approvals.models import Request
from approvals.pages.case import CaseRecord, case_view, read_case
from approvals.pages.case.attempt import Attempt, returned_form, told
from approvals.pages.case.page import place_of
from approvals.pages.drawn import Mark, mark_of, still_holds
from approvals.pages.folding import in_order
from approvals.pages.frame import frame, name_of
from approvals.pages.index import Index
from approvals.pages.listing import queue_view
from approvals.pages.onward import earlier, underway
from approvals.pages.selection import Selection
from approvals.pages.viewer import Viewer
from approvals.presentation.case import CaseView
from approvals.presentation.queue import QueueView
from approvals.presentation.shell import Shell
from approvals.services.seeing import note_sight, note_sight_of
from kernel.clock import database_now
from tenants.models import User


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskPage:
    """The whole page."""

    shell: Shell
    queue: QueueView


def read_desk(
    user: User,
    viewer: Viewer,
    selection: Selection,
    index: Index,
    id: UUID | None = None,
    attempt: Attempt | None = None,
    *,
    before: str = "",
) -> DeskPage:
    """Raises `not_found` for a case that the viewer may not see.

    `before` is the id of the request that was answered on the way here.
    """
    record = _seen(read_case(viewer, id)) if id else None
    case = None
    if record is not None:
        case = show_case(record, selection, index, attempt, before)
    about = record.stream_of if record else {}
    shell = frame(user, viewer, index, place="queue", selection=selection, **about)
    queue = read_list(viewer, selection, index, id, name_of(shell.views), case)
    return DeskPage(shell=shell, queue=queue)


def read_list(
    viewer: Viewer,
    selection: Selection,
    index: Index,
    current: UUID | None,
    heading: str,
    case: CaseView | None = None,
) -> QueueView:
    return queue_view(
        viewer,
        selection,
        index,
        database_now(),
        heading=heading,
        current=current,
        case=case,
    )


def read_open_case(
    viewer: Viewer,
    selection: Selection,
    index: Index,
    id: UUID,
    attempt: Attempt | None = None,
    *,
    before: str = "",
) -> CaseView:
    """Raises `not_found`. `attempt` is an answer that was not recorded."""
    return show_case(_seen(read_case(viewer, id)), selection, index, attempt, before)


def _seen(record: CaseRecord) -> CaseRecord:
    """The same, once it is on record who is shown it."""
    note_sight(
        tenant_id=record.request.tenant_id,
        member_id=record.viewer.id,
        request_id=record.request.id,
        revision_id=record.revision.id,
    )
    return record


def show_case(
    record: CaseRecord,
    selection: Selection,
    index: Index,
    attempt: Attempt | None,
    before: str = "",
) -> CaseView:
    """The case in its place of the list, with the answer to what was just tried."""
    entries, id = in_order(index, selection), record.request.id
    case = case_view(
        record,
        selection,
        place_of(entries, selection, record.slug, id),
        form=returned_form(record, attempt) if attempt else None,
        notice=told(record, attempt) if attempt else None,
    )
    if attempt or not before:
        return case
    return replace(case, earlier=earlier(record.viewer, selection, before))


def draw_ahead(
    viewer: Viewer,
    selection: Selection,
    index: Index,
    id: UUID,
    after: UUID,
    becomes: str,
) -> tuple[CaseView, Mark]:
    """The case and its mark, before anybody is shown it: no sight of it is noted.

    It is as it will stand once `after` is answered and in that state. Raises `not_found`.
    """
    approved = after if becomes == Request.State.APPROVED else None
    record, since = read_case(viewer, id, approved), index.answered(after, becomes)
    case = show_case(record, selection, since, None)
    return replace(case, earlier=underway(after)), mark_of(record, after)


def show_drawn(viewer: Viewer, mark: Mark) -> bool:
    """Whether what was drawn ahead is shown now; the sight of it is noted then."""
    seen = Request.objects.filter(id=mark.case, queue_id__in=viewer.sees)
    request = seen.first()
    if request is None or not still_holds(mark, viewer, request):
        return False
    note_sight_of(mark.case, request.revision, member_id=viewer.id)
    return True
