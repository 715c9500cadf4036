"""Looking back: runs, one run's story, and what a person makes of one that stopped."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from approvals.pages.addresses import address
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.problems import REASON_NEEDED
from approvals.services.attention import abandon_run, release_run
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.clock import database_now
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from oversight.forms import RELEASE, AttendForm
from oversight.pages.drills import drills_view
from oversight.pages.run import run_view
from oversight.pages.runs import RunSelection, runs_view
from oversight.showing import page
from tenants.access import OVERSEERS
from tenants.pages import member_page


@member_page
@require_safe
def runs(request: DeskRequest) -> HttpResponse:
    """GET runs: those that the member may see."""
    viewer = viewer_of(request)
    with tenant_transaction(request.member.tenant_id):
        view = runs_view(viewer, RunSelection.read(request.GET))
        shell = frame(request.user, viewer, read_index(viewer), place="runs")
    part = "#rows" if request.htmx and request.htmx.target == "runs" else ""
    context = {"shell": shell, "runs": view}
    return render(request, f"oversight/runs.html{part}", context)


@member_page
@require_safe
def run(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET runs/{id}: 404 for whoever sees none of its requests."""
    return _show_run(request, id)


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def attend(request: DeskRequest, id: UUID) -> HttpResponse:
    """POST runs/{id}/attend: 303 to the run; 4xx with the reason above the form."""
    if request.method != "POST":
        return _to_run(request, id)
    form = AttendForm(request.POST)
    try:
        with missing_is_404():
            _attend(request, id, form)
    except Problem as problem:
        return _show_run(request, id, problem)
    return _to_run(request, id)


def _attend(request: DeskRequest, id: UUID, form: AttendForm) -> None:
    if not form.is_valid():
        raise REASON_NEEDED("Choose what is to become of it, and say why.", "/reason")
    said = form.cleaned_data
    verb = release_run if said["choice"] == RELEASE else abandon_run
    verb(request.person, run_id=id, reason=said["reason"], seen=said["seen"])


def _to_run(request: DeskRequest, id: UUID) -> HttpResponse:
    seen = HttpResponse(status=303)
    seen["Location"] = address("run", request.member.slug, id)
    return seen


def _show_run(
    request: DeskRequest, id: UUID, problem: Problem | None = None
) -> HttpResponse:
    """The run's page; after a refusal with the reason, and the words kept."""
    viewer = viewer_of(request)
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        view = run_view(viewer, id)
        index = read_index(viewer)
        shell = frame(request.user, viewer, index, place="runs", run=str(id))
    part = "#run" if request.htmx and request.htmx.target == "run" else ""
    context = {
        "shell": shell,
        "run": view,
        "problem": problem,
        "said": request.POST.get("reason", ""),
    }
    status = problem.status if problem else 200
    return render(request, f"oversight/run.html{part}", context, status=status)


@member_page(roles=OVERSEERS)
@require_safe
def drills(request: DeskRequest) -> HttpResponse:
    """GET drills: the report of the last one, for those who oversee the tenant."""
    return page(
        request,
        "drills.html",
        lambda _: {"drills": drills_view(database_now())},
        place="drills",
    )
