"""Saying what came of an action that nothing else can prove, with evidence."""

from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.forms import OutcomeForm
from approvals.pages.case.attempt import Attempt
from approvals.pages.find import newest_effect
from approvals.problems import EVIDENCE_NEEDED, MOVED_ON
from approvals.services.resolve import resolve_effect
from approvals.views.desk import show_desk, to_case
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.pages import member_page


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def resolve_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """POST requests/{id}/resolve: 303 to the case; 4xx with the reason above it."""
    if request.method != "POST":
        return to_case(request, id)
    try:
        with missing_is_404():
            _resolve(request, id)
    except Problem as problem:
        tried = Attempt(verdict="resolve", values=_said(request), problem=problem)
        return show_desk(request, id, tried)
    return to_case(request, id)


def _said(request: DeskRequest) -> dict[str, str]:
    """The form as it was filled in; what stands for the person's own words with it."""
    return {**request.POST.dict(), "reason": request.POST.get("evidence", "")}


def _resolve(request: DeskRequest, id: UUID) -> None:
    with tenant_transaction(request.member.tenant_id):
        effect_id = newest_effect(viewer_of(request), id)
    if request.POST.get("effect") != str(effect_id):
        raise MOVED_ON("Read which action this is about now, and then say what it did.")
    form = OutcomeForm(request.POST)
    if not form.is_valid():
        raise EVIDENCE_NEEDED("Choose what happened, and say how you know.")
    said = form.cleaned_data
    resolve_effect(
        request.person,
        effect_id=effect_id,
        outcome=said["outcome"],
        evidence=said["evidence"],
        external_id=said["external_id"],
    )
