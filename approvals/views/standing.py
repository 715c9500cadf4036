"""Standing approvals: all of them, one with its uses, and the form that makes one."""

from uuid import UUID

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from approvals.forms import LONGEST, NOT_OURS
from approvals.pages.addresses import address
from approvals.pages.case import read_case
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.pages.selection import Selection
from approvals.pages.standing import standing_view, standings_view
from approvals.pages.standing_form import Given, make_view, read_terms
from approvals.presentation.shell import Notice, Shell
from approvals.problems import REASON_NEEDED, STANDING_TOO_WIDE
from approvals.services.standing import make_standing, revoke_standing
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.pages import member_page


@member_page
@require_safe
def standing(request: DeskRequest) -> HttpResponse:
    """GET standing: what was agreed to beforehand, as far as the member may see it."""
    with tenant_transaction(request.member.tenant_id):
        shown = standings_view(viewer_of(request), before=request.GET.get("before", ""))
        context = {"shell": _shell(request), "standing": shown}
    return render(request, "approvals/standings.html", context)


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def standing_one(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET standing/{id}: what it covers and each use. POST: revoke it."""
    if request.method != "POST":
        return _show(request, id)
    try:
        with missing_is_404():
            revoke_standing(
                request.person,
                standing_id=id,
                reason=request.POST.get("reason", "")[:LONGEST],
            )
    except Problem as problem:
        return _show(request, id, problem)
    return HttpResponseRedirect(address("standing_one", request.member.slug, id))


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def make_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET requests/{id}/standing: the form. POST: make it, and show it."""
    if request.method != "POST":
        return _form(request, id, Given())
    post = {name: str(text) for name, text in request.POST.items()}
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        given = read_terms(read_case(viewer_of(request), id), post)
    if given.errors or given.terms is None:
        return _form(request, id, given, status=422)
    try:
        with missing_is_404():
            made = make_standing(
                request.person,
                request_id=id,
                terms=given.terms,
                digest=_digest(post.get("digest", "")),
            )
    except Problem as problem:
        given.errors = _errors(problem)
        return _form(request, id, given, status=problem.status)
    there = address("standing_one", request.member.slug, made.id)
    return HttpResponseRedirect(there)


def _digest(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return NOT_OURS.encode()  # which no revision has


def _errors(problem: Problem) -> dict[str, str]:
    """Beside the field that it is about, or above all of them."""
    place = (problem.pointer or "").removeprefix("/")
    beside = {STANDING_TOO_WIDE.code, REASON_NEEDED.code}
    if problem.code in beside and place:
        return {place: problem.detail}
    return {"": f"{problem.title}. {problem.detail}"}


def _form(
    request: DeskRequest, id: UUID, given: Given, *, status: int = 200
) -> HttpResponse:
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        record = read_case(viewer_of(request), id)
        made = make_view(record, given, Selection.read(request.GET))
        context = {"shell": _shell(request), "make": made}
    return render(request, "approvals/standing_make.html", context, status=status)


def _show(
    request: DeskRequest, id: UUID, problem: Problem | None = None
) -> HttpResponse:
    beside = problem is not None and problem.code == REASON_NEEDED.code
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        shown = standing_view(
            viewer_of(request),
            id,
            reason_error=problem.detail if problem and beside else "",
            notice=_notice(problem) if problem and not beside else None,
        )
        context = {"shell": _shell(request), "standing": shown}
    status = problem.status if problem else 200
    return render(request, "approvals/standing.html", context, status=status)


def _notice(problem: Problem) -> Notice:
    return Notice(
        title=problem.title,
        sentence=problem.detail,
        code=problem.code,
        tone="bad",
        icon="warn",
    )


def _shell(request: DeskRequest) -> Shell:
    viewer = viewer_of(request)
    return frame(request.user, viewer, read_index(viewer), place="standing")
