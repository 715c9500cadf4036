"""Letters that could not be mailed, and sending them again."""

from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.views.request import DeskRequest, missing_is_404
from kernel.problems import Problem
from oversight.administration.answering import (
    LOOKING,
    acting,
    chosen,
    seen,
    status_of,
    told,
)
from oversight.forms import OneLetterForm
from oversight.pages.letters import letters_view
from oversight.showing import page
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page
from tenants.services.mailing import resend_mail


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def letters(request: DeskRequest) -> HttpResponse:
    """GET letters: what waits or was given up. POST: send one again."""
    if request.method != "POST":
        return _show(request)
    try:
        with missing_is_404():
            which = chosen(OneLetterForm(request.POST))["letter"]
            resend_mail(**acting(request), mail_id=which)
    except Problem as problem:
        return _show(request, notice=told(problem), status=status_of(problem))
    return seen(request, "letters")


def _show(request: DeskRequest, *, status: int = 200, **shown: Any) -> HttpResponse:
    after = request.GET.get("after", "")
    return page(
        request,
        "letters.html",
        lambda _: {"letters": letters_view(request.member, after, **shown)},
        place="system",
        status=status,
    )
