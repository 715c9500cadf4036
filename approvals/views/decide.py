"""Deciding: one form, one verb, and nothing that was typed is lost."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from approvals.forms import AnswerForm, Flawed
from approvals.models import Decision, Request
from approvals.pages.case.attempt import SHEETS, Attempt
from approvals.pages.find import response_schema
from approvals.problems import (
    ARGUMENTS_UNCHANGED,
    DIGEST_CHANGED,
    REASON_NEEDED,
    REAUTHENTICATE,
    SECRET_IN_ARGUMENTS,
)
from approvals.queries import current_revision
from approvals.services.case import Answer
from approvals.services.decide import decide
from approvals.views.ahead import BOX, ONWARD, look_ahead, to_next
from approvals.views.desk import show_desk, to_case
from approvals.views.edit import show_comparison
from approvals.views.kept import PROVE, leave, take
from approvals.views.prove import prove_again
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from checkpoints.tools import ARGUMENTS_INVALID
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.pages import member_page

# An edit that can be mended is shown again as an edit.
MENDABLE: Final = frozenset(
    {
        ARGUMENTS_INVALID.code,
        ARGUMENTS_UNCHANGED.code,
        SECRET_IN_ARGUMENTS.code,
        DIGEST_CHANGED.code,
        REASON_NEEDED.code,
        REAUTHENTICATE.code,
    }
)


@member_page
@sensitive_post_parameters("password", "code")
@require_http_methods(["GET", "HEAD", "POST"])
def decide_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """POST requests/{id}/decide: 303 to the case, or to the next one where that is wanted;
    4xx with the form as it was.

    Whoever comes by GET, after having had to sign in, is led to the case; whoever left to
    prove who they are finds the form as they left it.
    """
    if request.method != "POST":
        return _resumed(request, id) or to_case(request, id)
    if PROVE in request.POST:
        with missing_is_404():
            return leave(request, id, PLACE)
    answer: Answer | None = None
    try:
        with missing_is_404():
            ahead = look_ahead(request, id)
            answer = AnswerForm(request.POST).answer(ahead.schema)
            prove_again(request)
            decided = decide(request.person, request_id=id, answer=answer)
    except Flawed as flawed:
        return _again(request, id, answer, tried(request, flawed.errors))
    except Problem as problem:
        return _again(request, id, answer, tried(request, problem=problem))
    _note_box(request)
    return _remembering(request, to_next(request, ahead, id, decided.state))


def _resumed(request: DeskRequest, id: UUID) -> HttpResponse | None:
    """The form that was left, for what is asked now; nothing was recorded yet."""
    values = take(request, id, PLACE)
    if values is None:
        return None
    answer, changed = None, None
    try:
        with missing_is_404(), tenant_transaction(request.member.tenant_id):
            schema = response_schema(viewer_of(request), id)
            if values.get("digest") != _digest_now(id):
                changed = DIGEST_CHANGED("Read it again before you answer.")
        if values.get("verdict") == Decision.Verdict.EDIT:
            answer = AnswerForm(values).answer(schema)
    except Flawed:
        return None
    kept = {name: values[name] for name in values if name not in UNKEPT}
    verdict = values.get("verdict", "")
    attempt = Attempt(verdict=verdict, values=kept, problem=changed)
    return _again(request, id, answer, attempt)


def _digest_now(id: UUID) -> str:
    return bytes(current_revision(Request.objects.get(id=id)).digest).hex()


def _note_box(request: DeskRequest) -> None:
    """The case that is drawn now shows the box as it was left; an edit has none."""
    if request.POST.get("verdict") in SHEETS:
        request.COOKIES[BOX] = "1" if request.POST.get(ONWARD) else ""


def _remembering(request: DeskRequest, response: HttpResponse) -> HttpResponse:
    """Cases that are opened later show it as it was left, too."""
    if request.POST.get("verdict") in SHEETS:
        response.set_cookie(
            BOX,
            request.COOKIES[BOX],
            max_age=REMEMBERED,
            secure=request.is_secure(),
            httponly=True,
            samesite="Lax",
        )
    return response


def _again(
    request: DeskRequest, id: UUID, answer: Answer | None, attempt: Attempt
) -> HttpResponse:
    """An edit that can be mended comes back as an edit, anything else as a case."""
    edited = answer is not None and answer.arguments is not None
    mendable = attempt.problem is None or attempt.problem.code in MENDABLE
    if answer is not None and edited and mendable:
        return show_comparison(request, id, answer, attempt)
    return show_desk(request, id, attempt)


def tried(
    request: DeskRequest,
    errors: Mapping[str, str] | None = None,
    problem: Problem | None = None,
) -> Attempt:
    """The form as it was sent, without what must not come back."""
    kept = {k: str(v) for k, v in request.POST.items() if k not in UNKEPT}
    return Attempt(
        verdict=request.POST.get("verdict", ""),
        values=kept,
        errors=errors or {},
        problem=problem,
    )


PLACE: Final = "decide"
REMEMBERED: Final = 31_536_000  # seconds: a year
UNKEPT: Final = frozenset({"csrfmiddlewaretoken", "password", "code", "digest", PROVE})
