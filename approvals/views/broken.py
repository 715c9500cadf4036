"""Looking into glasses that were broken: the list, and one of them with its form."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from approvals.forms import ReviewForm
from approvals.pages.broken import broken_view, review_view
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.presentation.shell import Notice
from approvals.services.post_review import review_broken_glass
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.pages import member_page


@member_page
@require_safe
def broken_glass(request: DeskRequest) -> HttpResponse:
    """GET broken-glass: all that the member sees, those to look into first."""
    with tenant_transaction(request.member.tenant_id):
        viewer = viewer_of(request)
        broken = broken_view(viewer)
        shell = frame(request.user, viewer, read_index(viewer), place="broken_glass")
    context = {"shell": shell, "broken": broken}
    return render(request, "approvals/broken_glass.html", context)


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def post_review(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET broken-glass/{id}: what was done and why. POST: 303 back to it, or 4xx."""
    if request.method != "POST":
        return _show(request, id)
    form = ReviewForm(request.POST)
    if not form.is_valid():
        errors = {name: str(found[0]) for name, found in form.errors.items()}
        return _show(request, id, errors=errors, status=422)
    try:
        with missing_is_404():
            review_broken_glass(request.person, decision_id=id, **form.cleaned_data)
    except Problem as problem:
        return _show(request, id, problem=problem, status=problem.status)
    return redirect(request.path)


def _show(
    request: DeskRequest,
    id: UUID,
    *,
    errors: dict[str, str] | None = None,
    problem: Problem | None = None,
    status: int = 200,
) -> HttpResponse:
    typed = {name: str(text) for name, text in request.POST.items()}
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        viewer = viewer_of(request)
        notice = _refused(problem) if problem else None
        review = review_view(viewer, id, typed=typed, errors=errors, notice=notice)
        shell = frame(request.user, viewer, read_index(viewer), place="broken_glass")
    context = {"shell": shell, "review": review}
    return render(request, "approvals/post_review.html", context, status=status)


def _refused(problem: Problem) -> Notice:
    return Notice(
        title=problem.title,
        sentence=f"{problem.detail} Nothing was recorded.",
        code=problem.code,
        tone="warn",
        icon="warn",
    )
