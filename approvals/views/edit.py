"""Editing: controls, then the comparison; the decision itself is posted to `decide`."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from approvals.forms import AnswerForm, Flawed
from approvals.pages.case import CaseRecord, read_case
from approvals.pages.case.attempt import Attempt
from approvals.pages.case.desk import blocked_answers
from approvals.pages.edit import Edited, edit_view, schema_of
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.pages.selection import Selection
from approvals.presentation.controls import controls
from approvals.presentation.reading import (
    Misread,
    by_name,
    editable,
    read_controls,
    typed,
)
from approvals.problems import NO_RIGHT, NOT_PENDING, REASON_NEEDED
from approvals.services.case import Answer
from approvals.services.editing import check_edited, same
from approvals.views.desk import show_desk
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.pages import member_page

CHANGE: Final = "change"

type Step = Callable[[CaseRecord], Edited]


@member_page
@sensitive_post_parameters("password", "code")
@require_http_methods(["GET", "HEAD", "POST"])
def edit_page(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET requests/{id}/edit: the controls. POST: the comparison, nothing recorded; from
    the comparison with `change`: the controls as they were filled in."""
    if request.method != "POST":
        return _show(request, id, lambda record: Edited())
    step = _changing if CHANGE in request.POST else _read
    return _show(request, id, lambda record: step(request, record))


def show_comparison(
    request: DeskRequest, id: UUID, answer: Answer, attempt: Attempt
) -> HttpResponse:
    """An edit that was refused, compared with what is asked now."""
    problem = attempt.problem
    place = "reason" if problem and problem.code == REASON_NEEDED.code else ""
    whole = {place: f"{problem.title}. {problem.detail}"} if problem else {}
    said = Edited(
        reason=answer.reason,
        arguments=answer.arguments,
        errors={**whole, **attempt.errors},
    )
    return _show(request, id, lambda record: said, status=attempt.status)


def _show(
    request: DeskRequest, id: UUID, step: Step, *, status: int = 200
) -> HttpResponse:
    """The page; or the case with the reason why this person edits nothing here."""
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        viewer = viewer_of(request)
        record = read_case(viewer, id)
        refused = _refused(record)
        if refused is None:
            edited = step(record)
            shell = frame(request.user, viewer, read_index(viewer), place="queue")
            shown = edit_view(record, Selection.read(request.GET), edited)
            context = {"shell": shell, "edit": shown}
    if refused is not None:
        return show_desk(request, id, Attempt(verdict="edit", problem=refused))
    flawed = 422 if edited.errors and status == 200 else status
    return render(request, "approvals/edit.html", context, status=flawed)


def _refused(record: CaseRecord) -> Problem | None:
    if not record.is_decidable:
        return NOT_PENDING(f"This is {record.request.state}.")
    why = blocked_answers(record).get("edit")
    return NO_RIGHT(why) if why else None


def _read(request: DeskRequest, record: CaseRecord) -> Edited:
    """The posted texts as arguments, or what is wrong with each."""
    original = record.envelope.action.arguments
    post = {name: str(text) for name, text in request.POST.items()}
    reason = post.get("reason", "")
    read = read_controls(post, original, schema_of(record))
    errors = _flaws(record, read.arguments)
    if isinstance(read, Misread):
        errors = _both(record, read.errors, errors)
    if errors:
        return Edited(reason=reason, post=post, errors=errors)
    return Edited(reason=reason, arguments=read.arguments)


def _changing(request: DeskRequest, record: CaseRecord) -> Edited:
    """The arguments of the comparison, in the controls again."""
    try:
        answer = AnswerForm(request.POST).answer(None)
    except Flawed as flawed:
        return Edited(errors={"": next(iter(flawed.errors.values()))})
    asked = controls(record.envelope.action.arguments, schema_of(record))
    return Edited(reason=answer.reason, post=typed(asked, answer.arguments))


def _flaws(record: CaseRecord, arguments: Any) -> dict[str, str]:
    """What the tool would not take, beside the control that it is about."""
    original = record.envelope.action.arguments
    if same(arguments, original):
        return {"": "Nothing differs yet. To keep it as it is, approve it."}
    try:
        check_edited(record.request.tool, arguments, original, pointer="")
        record.envelope.action.with_arguments(arguments)
    except Problem as problem:
        return by_name(controls(original, schema_of(record)), problem.flaws)
    return {}


def _both(
    record: CaseRecord, misread: Mapping[str, str], flaws: Mapping[str, str]
) -> dict[str, str]:
    """What could not be read, and what is wrong with the values that could; of the whole
    nothing is known before all of it is there."""
    asked = controls(record.envelope.action.arguments, schema_of(record))
    found = {**flaws, "": "", **misread}
    names = ["", *(one.name for one in editable(asked))]
    return {name: found[name] for name in names if found.get(name)}
