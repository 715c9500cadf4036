"""Pages of a trace: why a run took an action, as a picture, a table and JSON."""

from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.scope import tenant_transaction
from oversight.pages.trace.page import as_document, trace_view
from tenants.pages import member_page


@member_page
@require_safe
def trace(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET runs/{id}/trace[?request=…]: 404 as for the run's own page."""
    viewer, chosen = viewer_of(request), request.GET.get("request", "")
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        view = trace_view(viewer, id, chosen)
        shell = frame(request.user, viewer, read_index(viewer), place="runs")
    return render(request, "oversight/trace.html", {"shell": shell, "trace": view})


@member_page
@require_safe
def trace_json(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET runs/{id}/trace.json: the same parts, for programs."""
    viewer, chosen = viewer_of(request), request.GET.get("request", "")
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        document = as_document(trace_view(viewer, id, chosen))
    return JsonResponse(document)
