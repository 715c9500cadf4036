"""Pages of a trace: why a run took an action, as a picture, a table, and to take away."""

from functools import partial
from pathlib import Path
from typing import Final
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import (
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.views.decorators.http import require_POST, require_safe

import audit.offline
from approvals.pages.viewer import Viewer
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.offload import offload
from kernel.scope import tenant_transaction
from oversight.pages.agentack import write_agentack_trace
from oversight.pages.piped import piped
from oversight.pages.run_bundle import write_run_bundle
from oversight.pages.trace.page import as_document, trace_view
from oversight.queries import visible_run
from oversight.services.exporting import record_export
from oversight.showing import attached, page
from tenants.pages import member_page

VERIFIER: Final = Path(audit.offline.__path__[0]) / "verify_bundle.py"


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


@member_page
@require_safe
async def trace_agentack(request: DeskRequest, id: UUID) -> HttpResponseBase:
    """GET runs/{id}/agentack.jsonl: what `agentack check` grades; 404 as for the run."""
    viewer = viewer_of(request)
    await offload(_require_seen, viewer, id)
    lines = piped(partial(write_agentack_trace, viewer, id))
    answer = StreamingHttpResponse(lines, content_type="application/jsonl")
    return attached(answer, f"{id}.jsonl")


@member_page
@require_POST
async def bundle(request: DeskRequest, id: UUID) -> HttpResponseBase:
    """POST runs/{id}/bundle: the signed entries of the run, and who took them is one.

    For those who oversee the tenant: entries are told whole, whatever the queue.
    """
    await offload(_require_seen, viewer_of(request), id)
    if not request.member.oversees:
        raise PermissionDenied
    said = {"run": str(id)}
    tenant_id = await offload(record_export, request.person, form="run", asked=said)
    lines = piped(partial(write_run_bundle, tenant_id, id))
    answer = StreamingHttpResponse(lines, content_type="application/x-ndjson")
    return attached(answer, f"run-{id}.ndjson")


@member_page
@require_safe
def verifier(request: DeskRequest) -> HttpResponseBase:
    """GET verify_bundle.py: the script that checks a bundle on any machine."""
    answer = HttpResponse(VERIFIER.read_bytes(), content_type="text/x-python")
    return attached(answer, VERIFIER.name)


def _require_seen(viewer: Viewer, run_id: UUID) -> None:
    with missing_is_404(), tenant_transaction(viewer.membership.tenant_id):
        visible_run(viewer, run_id)
