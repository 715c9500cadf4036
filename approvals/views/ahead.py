"""From an answer to the next case; drawn beforehand, while the answer is still given."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django_htmx.http import reselect

from approvals.models import Decision, Request
from approvals.pages.desk import draw_ahead, show_drawn
from approvals.pages.drawn import Mark
from approvals.pages.find import response_schema
from approvals.pages.folding import in_order
from approvals.pages.index import Index, read_index
from approvals.pages.onward import earlier, following
from approvals.pages.selection import Selection
from approvals.views.desk import CASE, at, href_of, to_case
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.scope import tenant_transaction
from tenants.pages import member_page

S = Request.State
V = Decision.Verdict
ONWARD: Final = "onward"
BOX: Final = f"keyturn_{ONWARD}"  # a cookie: whether one goes on by oneself
DRAWN: Final = "Keyturn-Drawn"  # a header: the mark of what the page holds
EARLIER: Final = "approvals/case.html#earlier"


@member_page
@require_safe
def ahead_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET requests/{id}/ahead: the case that follows once this one is answered, without
    a word of that answer; 204 where none follows. Nobody has been shown it yet.

    `becomes` is the state that the answer is taken to lead to. Whoever comes by the
    address is led to the case.
    """
    viewer, selection = viewer_of(request), Selection.read(request.GET)
    becomes, tenant = request.GET.get("becomes", S.APPROVED), request.member.tenant_id
    # The mark must be of what was drawn, and not of what came a moment later.
    with missing_is_404(), tenant_transaction(tenant, snapshot=True):
        index = read_index(viewer, selection)
        if index.find(id) is None:
            raise Http404
        if not request.htmx:
            return to_case(request, id)
        towards = following(in_order(index, selection), id)
        if towards is None:
            return HttpResponse(status=204)
        case, mark = draw_ahead(viewer, selection, index, towards, id, becomes)
    request.COOKIES[BOX] = "1"
    verdict = V.REJECT if becomes == S.REJECTED else V.APPROVE
    context = {"case": case, "mark": mark, "verdict": verdict.value}
    return render(request, CASE, context)


@dataclass(frozen=True, slots=True)
class Ahead:
    """What an answer must look like; and where it leads if it is recorded, found while
    the request still has its place in the list.

    The open page may hold it, under a mark; then the list is not read yet.
    """

    schema: dict[str, Any] | None = None
    index: Index | None = None
    onward: UUID | None = None
    held: Mark | None = None


def look_ahead(request: DeskRequest, id: UUID) -> Ahead:
    """Raises `not_found`."""
    held = _held(request)
    if held is not None and held.after == id:
        return Ahead(held=held)
    viewer, selection = viewer_of(request), Selection.read(request.GET)
    with tenant_transaction(request.member.tenant_id):
        schema = response_schema(viewer, id)
        if not request.POST.get(ONWARD):
            return Ahead(schema)
        index = read_index(viewer, selection)
    return Ahead(schema, index, following(in_order(index, selection), id))


def _held(request: DeskRequest) -> Mark | None:
    """What the open page would show next. Words are checked against their schema, which
    has to be read."""
    in_place = request.htmx.boosted and request.htmx.target == "case"
    words = request.POST.get("verdict") == V.RESPOND
    if words or not (in_place and request.POST.get(ONWARD)):
        return None
    return Mark.read(request.headers.get(DRAWN, ""))


def to_next(
    request: DeskRequest, ahead: Ahead, answered: UUID, state: str
) -> HttpResponse:
    """The next one; or the one that was answered, where that has gone out of sight: the
    answer is recorded, whatever can be shown."""
    if ahead.held is not None:
        shown = _shown_ahead(request, ahead.held)
        if shown is not None:
            return shown
        ahead = _found_anew(request, ahead.held.case)
    if ahead.index is None or ahead.onward is None:
        return to_case(request, answered)
    since = ahead.index.answered(answered, state)
    try:
        return to_case(request, ahead.onward, (answered, since))
    except Http404:
        return to_case(request, answered)


def _shown_ahead(request: DeskRequest, held: Mark) -> HttpResponse | None:
    """What is said above the next case, where the page holds it as it stands now."""
    viewer, selection = viewer_of(request), Selection.read(request.GET)
    with tenant_transaction(request.member.tenant_id):
        if not show_drawn(viewer, held):
            return None
        said = earlier(viewer, selection, str(held.after))
    shown = render(request, EARLIER, {"case": {"earlier": said}})
    shown[DRAWN] = str(held)
    href = href_of(request, held.case, held.after)
    return at(request, reselect(shown, "#earlier"), href)


def _found_anew(request: DeskRequest, id: UUID) -> Ahead:
    """The same, or what follows it where it needs the viewer no more."""
    viewer, selection = viewer_of(request), Selection.read(request.GET)
    with tenant_transaction(request.member.tenant_id):
        index = read_index(viewer, selection)
    known = index.find(id)
    if known is not None and known.mine:
        return Ahead(index=index, onward=id)
    return Ahead(index=index, onward=following(in_order(index, selection), id))
