"""The list and the open case, side by side, or one of the two to be exchanged."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from approvals.pages.addresses import address
from approvals.pages.case.attempt import Attempt
from approvals.pages.desk import DeskPage, read_desk
from approvals.pages.find import find_exactly
from approvals.pages.selection import Selection
from approvals.views.request import DeskRequest, missing_is_404
from kernel.scope import tenant_transaction
from tenants.pages import member_page


@member_page
@require_safe
def home(request: DeskRequest) -> HttpResponse:
    """GET t/{slug}/: where a member's work begins."""
    return redirect(address("queue", request.member.slug))


@member_page
@require_safe
def queue(request: DeskRequest) -> HttpResponse:
    """GET queue: the list. What is found by its very name is opened at once."""
    selection = Selection.read(request.GET)
    if selection.search and not request.htmx:
        with tenant_transaction(request.member.tenant_id):
            found = find_exactly(request.person, selection.search)
        if found is not None:
            return redirect(address("case", request.member.slug, found))
    return show_desk(request)


@member_page
@require_safe
def case(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET queue/{id}: the same list with a case open."""
    return show_desk(request, id)


def show_desk(
    request: DeskRequest, id: UUID | None = None, attempt: Attempt | None = None
) -> HttpResponse:
    """The page, or the part of it that htmx asked for. 404 for strangers."""
    selection = Selection.read(request.GET)
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        page = read_desk(
            request.user, request.member, request.person, selection, id, attempt
        )
    context = {"shell": page.shell, "queue": page.queue, "case": page.queue.case}
    status = attempt.status if attempt else 200
    return render(request, _template(request, page), context, status=status)


def to_case(request: DeskRequest, id: UUID) -> HttpResponse:
    """After a decision: 303, so that reloading the page repeats nothing."""
    selection = Selection.read(request.GET)
    href = address("case", request.member.slug, id, query=selection.query)
    return HttpResponse(status=303, headers={"Location": href})


def _template(request: DeskRequest, page: DeskPage) -> str:
    target = request.htmx.target if request.htmx else None
    if target == "list":
        return "approvals/queue.html#rows"
    if target == "case" and page.queue.case:
        return "approvals/case.html#case"
    return "approvals/queue.html"
