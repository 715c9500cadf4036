"""What a session keeps: its files to download, and the legal holds on it."""

from uuid import UUID

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from approvals.forms import Flawed
from approvals.pages.addresses import address
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.pages.viewer import Viewer
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import NOT_FOUND, Problem
from kernel.scope import tenant_transaction
from oversight.administration.answering import acting, again, lifted
from oversight.forms import HoldForm, LiftForm
from oversight.pages.session import session_view
from oversight.presentation.forms import Form
from oversight.queries import visible_files, visible_run
from sessions.artifacts import content_of
from sessions.download import download
from sessions.models import Artifact
from sessions.services.retention import lift_hold, place_hold
from tenants.pages import member_page


@member_page
@require_safe
def session(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET runs/{id}/session: 404 as for the run's own page."""
    return _show(request, id)


@member_page
@require_safe
def file(request: DeskRequest, id: UUID, digest: str) -> HttpResponse:
    """GET runs/{id}/files/{digest}: an attachment, for who may see the run."""
    viewer = viewer_of(request)
    try:
        with missing_is_404(), tenant_transaction(request.member.tenant_id):
            artifact = _file(viewer, id, digest)
            return download(artifact, content_of(artifact))
    except Problem as problem:
        return _show(request, id, problem=problem)


def _file(viewer: Viewer, run_id: UUID, digest: str) -> Artifact:
    rows = visible_files(viewer, visible_run(viewer, run_id).session)
    found = rows.filter(sha256=bytes.fromhex(digest)).first()
    if found is None:
        raise NOT_FOUND()
    return found


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def hold(request: DeskRequest, id: UUID) -> HttpResponse:
    """POST runs/{id}/hold: keep the session from being erased; 303 back to its page."""
    if request.method != "POST":
        return _back(request, id)
    form = HoldForm(request.POST)
    session_id = _session_of(request, id)
    if not form.is_valid():
        return _show(request, id, form=form)
    try:
        place_hold(
            tenant_id=request.member.tenant_id,
            by=request.member.member_id,
            reason=form.cleaned_data["reason"],
            session_id=session_id,
        )
    except Problem as problem:
        return _show(request, id, problem=problem, form=form)
    return _back(request, id)


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def lift(request: DeskRequest, id: UUID) -> HttpResponse:
    """POST runs/{id}/hold/lift: end one of its holds; 303 back to its page."""
    if request.method != "POST":
        return _back(request, id)
    form = LiftForm(request.POST)
    _session_of(request, id)
    try:
        if not form.is_valid() and "hold" in form.errors:
            raise NOT_FOUND("Say which hold.")
        lift_hold(**acting(request), **lifted(form))
    except Flawed as error:
        return _show(request, id, lifting=again("lift", request.POST, error))
    except Problem as problem:
        return _show(request, id, problem=problem)
    return _back(request, id)


def _session_of(request: DeskRequest, id: UUID) -> UUID:
    """Who may not see the run does not learn that holding it would be forbidden."""
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        return visible_run(viewer_of(request), id).session_id


def _show(
    request: DeskRequest,
    id: UUID,
    *,
    problem: Problem | None = None,
    form: HoldForm | None = None,
    lifting: Form | None = None,
) -> HttpResponse:
    viewer, after = viewer_of(request), request.GET.get("after", "")
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        view = session_view(viewer, id, after=after)
        shell = frame(request.user, viewer, read_index(viewer), place="runs")
    context = {
        "shell": shell,
        "session": view,
        "problem": problem,
        "form": form or HoldForm(),
        "lifting": lifting,
    }
    status = problem.status if problem else 422 if form or lifting else 200
    return render(request, "oversight/session.html", context, status=status)


def _back(request: DeskRequest, id: UUID) -> HttpResponse:
    place = address("session", request.member.slug, id)
    return HttpResponseRedirect(place, status=303)
