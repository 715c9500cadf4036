"""The list and the open case, side by side, or one of the two to be exchanged."""

from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe
from django_htmx.http import push_url, replace_url

from approvals.pages.addresses import address
from approvals.pages.case.attempt import Attempt
from approvals.pages.desk import read_desk, read_list, read_open_case
from approvals.pages.find import find_exactly, made_outside
from approvals.pages.frame import counted_ways, name_of
from approvals.pages.index import Index, read_index
from approvals.pages.saved_views import entrance, saved_views
from approvals.pages.selection import Selection
from approvals.pages.viewer import Viewer
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.scope import tenant_transaction
from tenants.pages import member_page

PAGE: Final = "approvals/queue.html"
LIST: Final = f"{PAGE}#again"
BEFORE: Final = "before"
CASE: Final = "approvals/case.html#case"


@member_page
@require_safe
def home(request: DeskRequest) -> HttpResponse:
    """GET t/{slug}/: where a member's work begins: with what they chose, or what is theirs."""
    with tenant_transaction(request.member.tenant_id):
        viewer = viewer_of(request)
        query = entrance(viewer, saved_views(viewer)).query
    return redirect(address("queue", request.member.slug, query=query))


@member_page
@require_safe
def queue(request: DeskRequest) -> HttpResponse:
    """GET queue: the list. What is found by its very name is opened at once; of several
    that are known by it outside, their list."""
    selection = Selection.read(request.GET)
    if selection.search and not request.htmx:
        found = _found(request, selection)
        if found:
            return redirect(found)
    return show_desk(request)


def _found(request: DeskRequest, selection: Selection) -> str:
    viewer, slug, text = viewer_of(request), request.member.slug, selection.search
    with tenant_transaction(request.member.tenant_id):
        found = find_exactly(viewer, text)
        made = [] if found else made_outside(viewer, text)
    if len(made) > 1:
        several = Selection(view="decided", search=text).query
        listed = selection.view == "decided"
        return "" if listed else address("queue", slug, query=several)
    if made:
        return _outside(request, *made[0])
    return address("case", slug, found) if found else ""


def _outside(request: DeskRequest, run: UUID, asked: UUID) -> str:
    """Its case; for who oversees, why it came about."""
    slug = request.member.slug
    if request.member.oversees:
        return address("trace", slug, run, query={"request": str(asked)})
    return address("case", slug, asked)


@member_page
@require_safe
def case(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET queue/{id}: the same list with a case open."""
    return show_desk(request, id)


def show_desk(
    request: DeskRequest,
    id: UUID | None = None,
    attempt: Attempt | None = None,
    before: str = "",
    index: Index | None = None,
) -> HttpResponse:
    """The page, or the part of it that htmx asked for. 404 for strangers."""
    selection, viewer = Selection.read(request.GET), viewer_of(request)
    before = before or request.GET.get(BEFORE, "")
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        index = _index(request, viewer, selection, index)
        template, context = _read(request, viewer, index, id, attempt, before)
    status = attempt.status if attempt else 200
    response = render(request, template, context, status=status)
    if request.htmx.boosted:
        # The row that was pressed may be gone by now, so that htmx would not know.
        at(request, response, "" if attempt else request.get_full_path())
    return response


def at(request: DeskRequest, response: HttpResponse, href: str) -> HttpResponse:
    """The open page's address from now on; '' leaves it. Going back leads to another
    case, and never through one again and again."""
    del response["HX-Push-Url"]
    shown = (request.htmx.current_url_abs_path or "").partition("?")[0]
    if href and shown == href.partition("?")[0]:
        return replace_url(response, href)
    return push_url(response, href or False)


def _index(
    request: DeskRequest, viewer: Viewer, selection: Selection, known: Index | None
) -> Index:
    """Read now; the one that is known serves for a case's neighbours, and never for those
    on queues that the viewer has lost meanwhile."""
    if known is not None and request.htmx.target == "case":
        return known.within(viewer.sees)
    return read_index(viewer, selection)


def _read(
    request: DeskRequest,
    viewer: Viewer,
    index: Index,
    id: UUID | None,
    attempt: Attempt | None,
    before: str,
) -> tuple[str, dict[str, Any]]:
    """What is to be drawn, and with what; no more is read than that takes."""
    target = request.htmx.target if request.htmx else None
    selection = Selection.read(request.GET)
    if target == "list":
        ways = counted_ways(viewer, selection, index)
        queue = read_list(viewer, selection, index, id, name_of(ways.views))
        beside = {"counted": ways, "waiting": index.counts()["mine"]}
        return LIST, {"queue": queue, **beside}
    if target == "case" and id is not None:
        case = read_open_case(viewer, selection, index, id, attempt, before=before)
        return CASE, {"case": case, "tried": attempt}
    page = read_desk(request.user, viewer, selection, index, id, attempt, before=before)
    shown = {"shell": page.shell, "queue": page.queue, "case": page.queue.case}
    return PAGE, {**shown, "tried": attempt}


def href_of(request: DeskRequest, id: UUID, before: UUID | str = "") -> str:
    """The case, and which one was answered on the way there."""
    query = Selection.read(request.GET).query
    if before:
        query[BEFORE] = str(before)
    return address("case", request.member.slug, id, query=query)


def to_case(
    request: DeskRequest, id: UUID, answered: tuple[UUID, Index] | None = None
) -> HttpResponse:
    """303 to the case, so that reloading the page repeats nothing; in a page that is open
    the case itself, with its address.

    `answered` is the request that was, where this is the next one, and the list since.
    """
    before, index = answered or ("", None)
    href = href_of(request, id, before)
    if request.htmx.boosted and request.method == "POST":
        shown = show_desk(request, id, before=str(before), index=index)
        return at(request, shown, href)
    return HttpResponse(status=303, headers={"Location": href})
