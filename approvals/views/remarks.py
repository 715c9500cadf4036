"""A comment, and "I am on it": forms of a case that decide nothing."""

from typing import Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.pages.case.attempt import Attempt
from approvals.problems import COMMENT_INVALID
from approvals.services.remarks import assign, comment, release, take
from approvals.views.desk import show_desk, to_case
from approvals.views.request import DeskRequest, missing_is_404
from kernel.problems import Problem
from tenants.pages import member_page


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def comment_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """POST requests/{id}/comment: 303 to the case; 4xx with the text as it was typed."""
    if request.method != "POST":
        return to_case(request, id)
    text = request.POST.get("text", "").replace("\r\n", "\n")
    try:
        with missing_is_404():
            comment(request.person, request_id=id, text=text)
    except Problem as problem:
        return show_desk(request, id, _unsaid(text, problem))
    return to_case(request, id)


def _unsaid(text: str, problem: Problem) -> Attempt:
    """What is wrong with the text stands beside its field."""
    of_field = problem.code == COMMENT_INVALID.code
    return Attempt(
        verdict="comment",
        values={"text": text},
        errors={"text": f"{problem.title}."} if of_field else {},
        problem=problem,
    )


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def take_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """POST requests/{id}/take: 303 to the case; 409 while somebody else is on it.

    `act` is take, release or give; then `to` is the member whom it is given.
    """
    if request.method != "POST":
        return to_case(request, id)
    try:
        with missing_is_404():
            _be_on_it(request, id)
    except Problem as problem:
        return show_desk(request, id, Attempt(verdict="take", problem=problem))
    return to_case(request, id)


def _be_on_it(request: DeskRequest, id: UUID) -> None:
    act = request.POST.get("act", "")
    if act == "release":
        release(request.person, request_id=id)
    elif act == "give":
        assign(request.person, request_id=id, to=_receiver(request))
    else:
        take(request.person, request_id=id)


def _receiver(request: DeskRequest) -> UUID:
    """Whom the form names; nobody has the id that stands for anything else."""
    try:
        return UUID(request.POST.get("to", ""))
    except ValueError:
        return NOBODY


NOBODY: Final = UUID(int=0)
