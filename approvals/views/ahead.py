"""The next case beforehand: drawn while an answer is given, and shown once it is recorded."""

from typing import Final
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.pages.desk import draw_ahead, show_drawn
from approvals.pages.folding import in_order
from approvals.pages.index import Index, read_index
from approvals.pages.onward import earlier, following
from approvals.pages.selection import Selection
from approvals.models import Request
from approvals.views.desk import CASE, at, href_of, to_case
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.scope import tenant_transaction
from tenants.pages import member_page

S = Request.State
DRAWN: Final = "Keyturn-Drawn"  # a header: the mark of what was drawn
BOX: Final = "keyturn_onward"  # a cookie: whether one goes on by oneself
EARLIER: Final = "approvals/case.html#earlier"


@member_page
@require_safe
def ahead_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET requests/{id}/ahead: the case that follows once this one is answered, without
    a word of that answer; 204 where none follows. Nobody has been shown it yet.

    `becomes` is the state that the answer is taken to lead to.
    """
    viewer, selection = viewer_of(request), Selection.read(request.GET)
    becomes = request.GET.get("becomes", S.APPROVED)
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        index = read_index(viewer, selection)
        if index.find(id) is None:
            raise Http404
        towards = following(in_order(index, selection), id)
        if towards is None:
            return HttpResponse(status=204)
        index, approved = index.answered(id, becomes), becomes == S.APPROVED
        case, mark = draw_ahead(
            viewer, selection, index, towards, id if approved else None
        )
    request.COOKIES[BOX] = "1"
    context = {"case": case, "drawn_ahead": True}
    return _marked(render(request, CASE, context), mark)


def to_next(
    request: DeskRequest, towards: UUID, answered: tuple[UUID, Index]
) -> HttpResponse:
    """The next one; or the one that was answered, where that has gone out of sight: the
    answer is recorded, whatever can be shown."""
    try:
        shown = _shown_ahead(request, towards, answered)
        return shown or to_case(request, towards, answered)
    except Http404:
        return to_case(request, answered[0])


def _shown_ahead(
    request: DeskRequest, towards: UUID, answered: tuple[UUID, Index]
) -> HttpResponse | None:
    """What is said above the next case, where the open page holds it as it stands now."""
    mark, (id, index) = request.headers.get(DRAWN, ""), answered
    if not (mark and request.htmx.boosted and request.htmx.target == "case"):
        return None
    viewer, selection = viewer_of(request), Selection.read(request.GET)
    with tenant_transaction(request.member.tenant_id):
        index = index.within(viewer.sees)
        if not show_drawn(viewer, selection, index, towards, mark):
            return None
        said = earlier(viewer, selection, str(id))
    shown = _marked(render(request, EARLIER, {"case": {"earlier": said}}), mark)
    return at(request, shown, href_of(request, towards, id))


def _marked(response: HttpResponse, mark: str) -> HttpResponse:
    response[DRAWN] = mark
    return response
