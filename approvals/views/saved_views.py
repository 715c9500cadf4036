"""Saved views: kept, named, begun with, deleted."""

from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from approvals.pages.addresses import address
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.pages.saved_views import query_of, saved_views_page
from approvals.pages.selection import Selection
from approvals.services.saved_views import (
    default_view,
    delete_view,
    rename_view,
    save_view,
)
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import NOT_FOUND, Problem
from kernel.scope import tenant_transaction
from tenants.pages import member_page

TEMPLATE: Final = "approvals/views.html"


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def views(request: DeskRequest) -> HttpResponse:
    """GET views: all of them. POST: `act` is save, or one of `ACTS` on `saved`."""
    if request.method != "POST":
        return _show(request)
    act = request.POST.get("act", "")
    try:
        with missing_is_404():
            saved = ACTS.get(act, _save)(request)
    except Problem as problem:
        return _show(request, problem)
    done = {"done": act if act in ACTS else "save", "saved": str(saved)}
    query = {**_selection(request).query, **done}
    here = address("views", request.member.slug, query=query)
    return HttpResponse(status=303, headers={"Location": here})


def _save(request: DeskRequest) -> UUID:
    view = save_view(
        request.person,
        name=request.POST.get("name", ""),
        query=query_of(_selection(request)),
        shared=bool(request.POST.get("shared")),
        default=bool(request.POST.get("default")),
    )
    return view.id


def _rename(request: DeskRequest) -> UUID:
    saved, name = _saved(request), request.POST.get("name", "")
    rename_view(request.person, view_id=saved, name=name)
    return saved


def _begin(request: DeskRequest) -> UUID:
    saved = _saved(request)
    default_view(request.person, view_id=saved)
    return saved


def _begin_no_more(request: DeskRequest) -> UUID:
    saved = _saved(request)
    default_view(request.person, view_id=saved, on=False)
    return saved


def _delete(request: DeskRequest) -> UUID:
    saved = _saved(request)
    delete_view(request.person, view_id=saved)
    return saved


ACTS: Final[Mapping[str, Callable[[DeskRequest], UUID]]] = {
    "rename": _rename,
    "default": _begin,
    "no_default": _begin_no_more,
    "delete": _delete,
}


def _saved(request: DeskRequest) -> UUID:
    try:
        return UUID(request.POST.get("saved", ""))
    except ValueError:
        raise NOT_FOUND() from None


def _selection(request: DeskRequest) -> Selection:
    return Selection.read(request.GET).first_page()


def _show(request: DeskRequest, problem: Problem | None = None) -> HttpResponse:
    """The page; after a refusal with what was typed beside what is wrong with it."""
    selection = _selection(request)
    said = request.POST if problem else {}
    with tenant_transaction(request.member.tenant_id):
        viewer = viewer_of(request)
        index = read_index(viewer, selection)
        page = saved_views_page(
            viewer,
            selection,
            error=problem.detail or problem.title if problem else "",
            name=said.get("name", ""),
            at=said.get("saved", ""),
            done=request.GET.get("done", ""),
            saved=request.GET.get("saved", ""),
        )
        shell = frame(request.user, viewer, index, place="queue", selection=selection)
    status = problem.status if problem else 200
    return render(request, TEMPLATE, {"page": page, "shell": shell}, status=status)
