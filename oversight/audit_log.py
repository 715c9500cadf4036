"""Pages of the audit log: read it, have it verified, take it away."""

from functools import partial
from pathlib import Path
from typing import Final

from django.http import HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from approvals.pages.addresses import address
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.views.request import DeskRequest, viewer_of
from audit import offline
from audit.keys import trusted_pem
from kernel.offload import offload
from kernel.scope import tenant_transaction
from oversight.pages.anchor_taking import anchor_copy
from oversight.pages.audit import audit_view
from oversight.pages.audit_export import FORMS, NDJSON
from oversight.pages.audit_filter import Filter
from oversight.pages.piped import piped
from oversight.presentation.audit import ANCHORS, KEYS, SCRIPT
from oversight.services.exporting import record_export
from oversight.services.verifying import ask_verification
from oversight.showing import attached
from oversight.tasks import send_for_verification
from tenants.access import OVERSEERS
from tenants.pages import member_page

VERIFIER: Final = Path(offline.__path__[0]) / SCRIPT


@member_page(roles=OVERSEERS)
@require_safe
def audit(request: DeskRequest) -> HttpResponse:
    """GET audit: the entries that the address asks for, newest first."""
    viewer, asked = viewer_of(request), Filter.read(request.GET)
    with tenant_transaction(request.member.tenant_id):
        view = audit_view(request.member, asked)
        shell = frame(request.user, viewer, read_index(viewer), place="audit")
    part = "#verified" if request.htmx and request.htmx.target == "verified" else ""
    context = {"shell": shell, "audit": view}
    status = 422 if asked.errors else 200
    return render(request, f"oversight/audit.html{part}", context, status=status)


@member_page(roles=OVERSEERS)
@require_POST
def verify(request: DeskRequest) -> HttpResponse:
    """POST audit/verify: 303 to the log, where the progress shows."""
    ask_verification(request.person, begin=send_for_verification)
    there = address("audit", request.member.slug)
    return HttpResponse(status=303, headers={"Location": there})


@member_page(roles=OVERSEERS)
@require_POST
async def export(request: DeskRequest) -> HttpResponseBase:
    """POST audit/export: a file of what the filter asks for, in one of `FORMS`."""
    asked, form = Filter.read(request.POST), request.POST.get("form", "")
    if asked.errors or form not in FORMS:
        there = address("audit", request.member.slug, query=asked.typed)
        return HttpResponseRedirect(there)
    write, kind, name = FORMS[form]
    said = {name: text for name, text in asked.typed.items() if text}
    tenant_id = await offload(record_export, request.person, form=form, asked=said)
    lines = piped(partial(write, tenant_id, asked.wanted))
    return attached(StreamingHttpResponse(lines, content_type=kind), name)


@member_page(roles=OVERSEERS)
@require_safe
def verifier(request: DeskRequest) -> HttpResponse:
    """GET audit/verify_export.py: the script that checks the signed bundle anywhere."""
    answer = HttpResponse(VERIFIER.read_bytes(), content_type="text/x-python")
    return attached(answer, VERIFIER.name)


@member_page(roles=OVERSEERS)
@require_safe
def public_keys(request: DeskRequest) -> HttpResponse:
    """GET audit/audit-public.pem: every key that may have signed the log."""
    answer = HttpResponse(trusted_pem(), content_type="application/x-pem-file")
    return attached(answer, KEYS)


@member_page(roles=OVERSEERS)
@require_safe
async def anchors(request: DeskRequest) -> HttpResponseBase:
    """GET audit/anchors.ndjson: the tenant's own, from the file that has everybody's.

    503 while somebody else of the tenant takes them.
    """
    lines = await anchor_copy(request.member.tenant_id)
    return attached(StreamingHttpResponse(lines, content_type=NDJSON), ANCHORS)
