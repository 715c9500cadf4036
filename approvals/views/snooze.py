"""Putting a request aside in one's own view, and bringing it back."""

from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.pages.addresses import address
from approvals.pages.case.attempt import Attempt
from approvals.pages.selection import Selection
from approvals.presentation.snooze import LENGTHS
from approvals.services.snoozing import snooze, wake
from approvals.views.desk import show_desk, to_case
from approvals.views.request import DeskRequest, missing_is_404
from kernel.problems import NOT_FOUND, Problem
from tenants.pages import member_page


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def snooze_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """POST requests/{id}/snooze: 303 to the list, or to the case that is back."""
    if request.method != "POST":
        return to_case(request, id)
    back = request.POST.get("act") == "wake"
    try:
        with missing_is_404():
            if back:
                wake(request.person, request_id=id)
            else:
                _snooze(request, id)
    except Problem as problem:
        return show_desk(request, id, Attempt(verdict="snooze", problem=problem))
    if back:
        return to_case(request, id)
    query = Selection.read(request.GET).query
    there = address("queue", request.member.slug, query=query)
    return HttpResponse(status=303, headers={"Location": there})


def _snooze(request: DeskRequest, id: UUID) -> None:
    length = LENGTHS.get(request.POST.get("length", ""))
    if length is None:
        raise NOT_FOUND()
    snooze(request.person, request_id=id, length=length)
