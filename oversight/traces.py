"""Pages of a trace: why a run took an action, as a picture, a table and JSON."""

from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.scope import tenant_transaction
from oversight.pages.trace.page import as_document, trace_view
from oversight.showing import page
from tenants.pages import member_page


@member_page
@require_safe
def trace(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET runs/{id}/trace[?request=…]: 404 as for the run's own page."""
    chosen = request.GET.get("request", "")
    return page(
        request,
        "trace.html",
        lambda viewer: {"trace": trace_view(viewer, id, chosen)},
        place="runs",
    )


@member_page
@require_safe
def trace_json(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET runs/{id}/trace.json: the same parts, for programs."""
    viewer, chosen = viewer_of(request), request.GET.get("request", "")
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        document = as_document(trace_view(viewer, id, chosen))
    return JsonResponse(document)
