"""Looking back: runs, and one run's story."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from oversight.pages.drills import drills_view
from oversight.pages.run import run_view
from oversight.pages.runs import RunSelection, runs_view
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
    viewer = viewer_of(request)
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        view = run_view(viewer, id)
        index = read_index(viewer)
        shell = frame(request.user, viewer, index, place="runs", run=str(id))
    part = "#run" if request.htmx and request.htmx.target == "run" else ""
    context = {"shell": shell, "run": view}
    return render(request, f"oversight/run.html{part}", context)


@member_page(roles=OVERSEERS)
@require_safe
def drills(request: DeskRequest) -> HttpResponse:
    """GET drills: the report of the last one, for those who oversee the tenant."""
    viewer = viewer_of(request)
    with tenant_transaction(request.member.tenant_id):
        view = drills_view(database_now())
        shell = frame(request.user, viewer, read_index(viewer), place="drills")
    return render(request, "oversight/drills.html", {"shell": shell, "drills": view})
