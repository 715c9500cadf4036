"""Pages of workflows, and of one run's state through time."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.presentation.shell import Notice
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import NOT_FOUND, Problem
from kernel.scope import tenant_transaction
from kernel.strict_json import parse
from oversight.pages.state import Span, state_view
from oversight.pages.workflows import (
    definition_text,
    form_view,
    place,
    workflow_view,
    workflows_view,
)
from oversight.showing import attached, page
from sessions.contract import WORKFLOW_INVALID
from sessions.models import Workflow
from sessions.services import (
    publish_draft,
    save_draft,
    validate_draft,
    withdraw_draft,
)
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page

ACTS: Final[Mapping[str, Callable[..., object]]] = {
    "validate": validate_draft,
    "publish": publish_draft,
    "withdraw": withdraw_draft,
}


@member_page
@require_safe
def workflows(request: DeskRequest) -> HttpResponse:
    """GET workflows: all kinds of work."""
    return page(
        request,
        "workflows.html",
        lambda viewer: {"workflows": workflows_view(viewer)},
        place="workflows",
    )


@member_page
@require_safe
def workflow(request: DeskRequest, kind: str) -> HttpResponse:
    """GET workflows/{kind}: its picture, fields, history and draft."""
    return _show(request, kind)


@member_page
@require_safe
def export(request: DeskRequest, kind: str) -> HttpResponse:
    """GET workflows/{kind}/export: a version's definition as a file."""
    version = request.GET.get("version", "")
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        rows = Workflow.objects.filter(kind=kind).order_by("-version")
        if version.isdecimal() and len(version) < 10:
            rows = rows.filter(version=int(version))
        found = rows.first()
    if found is None:
        raise Http404
    text = definition_text(found.definition)
    response = HttpResponse(text, content_type="application/json")
    name = f"{found.kind}-{found.version}.json"
    return attached(response, name)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: DeskRequest, kind: str = "") -> HttpResponse:
    """GET workflows/{kind}/edit: its definition as text. POST: keep it as the draft."""
    if request.method != "POST":
        return _form(request, kind)
    given = kind or request.POST.get("kind", "")
    try:
        definition = parse(_text(request).encode())
        if not isinstance(definition, dict):
            raise WORKFLOW_INVALID("A definition is a JSON object.")
        _save(request, given, definition)
    except Problem as problem:
        return _form(request, kind, typed=request.POST.dict(), problem=problem)
    return HttpResponseRedirect(place("workflow", request.member.slug, given))


@member_page(roles=ADMINISTRATORS)
@require_POST
def draft(request: DeskRequest, kind: str) -> HttpResponse:
    """POST workflows/{kind}/draft: one of `ACTS`, on the draft that was `seen`."""
    act = ACTS.get(request.POST.get("act", ""))
    try:
        with missing_is_404():
            if act is None:
                raise NOT_FOUND()
            act(
                tenant_id=request.member.tenant_id,
                by=request.member.member_id,
                kind=kind,
                seen=request.POST.get("seen", ""),
            )
    except Problem as problem:
        return _show(request, kind, problem=problem)
    there = "workflow" if _exists(request, kind) else "workflows"
    named = kind if there == "workflow" else ""
    return HttpResponseRedirect(place(there, request.member.slug, named))


@member_page
@require_safe
def state(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET runs/{id}/state: facts at two versions or at a time; 422 for no such time."""
    viewer = viewer_of(request)
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        view = state_view(viewer, id, Span.read(request.GET))
        shell = frame(request.user, viewer, read_index(viewer), place="runs")
    context, status = {"shell": shell, "state": view}, 422 if view.error else 200
    return render(request, "oversight/state.html", context, status=status)


def _show(
    request: DeskRequest, kind: str, *, problem: Problem | None = None
) -> HttpResponse:
    viewer = viewer_of(request)
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        view = workflow_view(
            viewer,
            kind,
            version=request.GET.get("version", ""),
            against=request.GET.get("against", ""),
            notice=_notice(problem) if problem else None,
        )
        shell = frame(request.user, viewer, read_index(viewer), place="workflows")
    context = {"shell": shell, "workflow": view}
    status = problem.status if problem else 200
    return render(request, "oversight/workflow.html", context, status=status)


def _form(
    request: DeskRequest,
    kind: str,
    *,
    typed: Mapping[str, str] | None = None,
    problem: Problem | None = None,
) -> HttpResponse:
    viewer = viewer_of(request)
    with tenant_transaction(request.member.tenant_id):
        view = form_view(viewer, kind, typed=typed, error=_sentence(problem))
        shell = frame(request.user, viewer, read_index(viewer), place="workflows")
    context, status = {"shell": shell, "form": view}, problem.status if problem else 200
    return render(request, "oversight/workflow_edit.html", context, status=status)


def _save(request: DeskRequest, kind: str, definition: dict[str, Any]) -> None:
    save_draft(
        tenant_id=request.member.tenant_id,
        by=request.member.member_id,
        kind=kind,
        definition=definition,
        note=request.POST.get("note", "")[:2_000],
        seen=request.POST.get("seen", ""),
    )


def _text(request: DeskRequest) -> str:
    """What was typed; or a file, which then counts instead."""
    file: Any = request.FILES.get("file")
    if file is None:
        return request.POST.get("definition", "")
    try:
        return str(file.read(1024 * 1024).decode())
    except UnicodeDecodeError:
        raise WORKFLOW_INVALID("The file is not UTF-8 text.") from None


def _exists(request: DeskRequest, kind: str) -> bool:
    with tenant_transaction(request.member.tenant_id):
        return Workflow.objects.filter(kind=kind).exists()


def _sentence(problem: Problem | None) -> str:
    if problem is None:
        return ""
    at = f" ({problem.pointer})" if problem.pointer else ""
    return f"{problem.title}. {problem.detail}{at}"


def _notice(problem: Problem) -> Notice:
    at = f" At {problem.pointer}." if problem.pointer else ""
    return Notice(
        title=problem.title,
        sentence=f"{problem.detail}{at}",
        code=problem.code,
        tone="bad",
        icon="warn",
    )
