"""Breaking the glass: read it and say why, then confirm who one is."""

from collections.abc import Mapping
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from approvals.forms import Flawed, GlassForm
from approvals.pages.case import read_case
from approvals.pages.case.attempt import Attempt
from approvals.pages.frame import frame
from approvals.pages.glass import PLACE, break_view, why_sealed
from approvals.pages.index import read_index
from approvals.pages.selection import Selection
from approvals.problems import DIGEST_CHANGED, REASON_NEEDED, REAUTHENTICATE
from approvals.services.break_glass import break_glass
from approvals.views.desk import show_desk, to_case
from approvals.views.kept import PROVE, leave, take
from approvals.views.prove import prove_again
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.pages import member_page

# Where a refusal is shown: in the first step, or beside its field in the second.
FIELDS = {
    DIGEST_CHANGED.code: "",
    REASON_NEEDED.code: "reason",
    REAUTHENTICATE.code: "password",
}


@member_page
@sensitive_post_parameters("password", "code")
@require_http_methods(["GET", "HEAD", "POST"])
def break_glass_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET requests/{id}/break-glass: what it lifts, and why. POST: the question whether
    to; POST with `confirm`: 303 to the case, or 4xx with the form as it was.
    """
    if request.method != "POST":
        left = take(request, id, PLACE)
        typed = left.get("reason", "") if left else ""
        return _show(request, id, confirming=left is not None, reason=typed)
    if PROVE in request.POST:
        with missing_is_404():
            return leave(request, id, PLACE)
    form = GlassForm(request.POST)
    if not form.is_valid():
        reason = {"reason": "Say why it cannot wait: in 1 to 4,000 characters."}
        return _show(request, id, confirming=False, errors=reason, status=422)
    if not form.cleaned_data["confirm"]:
        return _show(request, id, confirming=True)
    return _confirmed(request, id, form)


def _confirmed(request: DeskRequest, id: UUID, form: GlassForm) -> HttpResponse:
    try:
        with missing_is_404():
            prove_again(request)
            break_glass(
                request.person,
                request_id=id,
                digest=form.digest_bytes,
                reason=form.cleaned_data["reason"],
            )
    except Flawed as flawed:
        return _show(request, id, confirming=True, errors=flawed.errors, status=422)
    except Problem as problem:
        return _refused(request, id, problem)
    return to_case(request, id)


def _refused(request: DeskRequest, id: UUID, problem: Problem) -> HttpResponse:
    """What can be mended is shown where it was typed; anything else with the case."""
    if problem.code not in FIELDS:
        said = {"reason": request.POST.get("reason", "")}
        tried = Attempt(verdict="break_glass", values=said, problem=problem)
        return show_desk(request, id, tried)
    return _show(
        request,
        id,
        confirming=problem.code == REAUTHENTICATE.code,
        errors={FIELDS[problem.code]: f"{problem.title}. {problem.detail}"},
        status=problem.status,
    )


def _show(
    request: DeskRequest,
    id: UUID,
    *,
    confirming: bool,
    reason: str = "",
    errors: Mapping[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The step; or the case with the reason why this person breaks nothing here."""
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        viewer = viewer_of(request)
        record = read_case(viewer, id)
        sealed = why_sealed(record)
        if sealed is None:
            said = request.POST.get("reason", reason)
            glass = break_view(
                record,
                Selection.read(request.GET),
                confirming=confirming,
                reason=said,
                errors=errors,
            )
            shell = frame(request.user, viewer, read_index(viewer), place="queue")
    if sealed is not None:
        return show_desk(request, id, Attempt(verdict="break_glass", problem=sealed))
    context = {"shell": shell, "glass": glass, "form": glass}
    return render(request, "approvals/break_glass.html", context, status=status)
