"""Taking an approval back, for as long as it has not been used."""

from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.forms import ReasonForm
from approvals.pages.case.attempt import Attempt
from approvals.problems import REASON_NEEDED
from approvals.services.revoke import revoke
from approvals.views.desk import show_desk, to_case
from approvals.views.request import DeskRequest, missing_is_404
from kernel.problems import Problem
from tenants.pages import member_page


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def revoke_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """POST requests/{id}/revoke: 303 to the case; 409 once it was executed."""
    if request.method != "POST":
        return to_case(request, id)
    try:
        with missing_is_404():
            revoke(request.person, request_id=id, reason=_reason(request))
    except Problem as problem:
        values = {"reason": request.POST.get("reason", "")}
        tried = Attempt(verdict="revoke", values=values, problem=problem)
        return show_desk(request, id, tried)
    return to_case(request, id)


def _reason(request: DeskRequest) -> str:
    form = ReasonForm(request.POST)
    if not form.is_valid():
        raise REASON_NEEDED("Say why; the agent and the auditor read it.", "/reason")
    reason: str = form.cleaned_data["reason"]
    return reason
