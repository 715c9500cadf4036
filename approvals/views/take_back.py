"""Taking one's answer back, for as long as the request waits for others."""

from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.forms import TakeBackForm
from approvals.pages.case.attempt import TAKE_BACK, Attempt
from approvals.services.taking_back import take_back
from approvals.views.desk import show_desk, to_case
from approvals.views.request import DeskRequest, missing_is_404
from kernel.problems import Problem
from tenants.pages import member_page


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def take_back_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """POST requests/{id}/take-back: 303 to the case; 409 where nothing was taken back."""
    if request.method != "POST":
        return to_case(request, id)
    try:
        with missing_is_404():
            take_back(request.person, request_id=id, digest=_digest(request))
    except Problem as problem:
        return show_desk(request, id, Attempt(verdict=TAKE_BACK, problem=problem))
    return to_case(request, id)


def _digest(request: DeskRequest) -> bytes:
    """Of what was on the screen; of a form that is not ours, of nothing."""
    form = TakeBackForm(request.POST)
    return bytes.fromhex(form.cleaned_data["digest"]) if form.is_valid() else b""
