"""What every page of the administration does: call a verb, and say what was wrong."""

from collections.abc import Callable, Container, Mapping
from typing import Any, Final, Protocol
from uuid import UUID

from django import forms
from django.http import HttpResponse, HttpResponseRedirect, QueryDict

from approvals.forms import Flawed
from approvals.pages.addresses import address
from approvals.presentation.shell import Notice
from approvals.views.request import DeskRequest, missing_is_404
from kernel.problems import NOT_FOUND, Problem
from oversight.presentation.forms import Form

LOOKING: Final = ["GET", "HEAD", "POST"]

# Which field of a form a refusal is about, where the refusal itself does not say.
FIELDS: Final[Mapping[str, str]] = {
    "agent_owner_needed": "member",
    "email_invalid": "email",
    "environment_invalid": "environment",
    "name_invalid": "name",
    "name_taken": "name",
    "unknown_scope": "scopes",
    "scope_alone": "scopes",
}

type Act = Callable[[DeskRequest, UUID], None]
"""Reads what was posted and calls the one verb that it asks for."""


class Shows(Protocol):
    """Draws a page: as it is, or with a form as it was typed, or a notice above it."""

    def __call__(
        self,
        request: DeskRequest,
        *,
        status: int = 200,
        form: Form | None = None,
        notice: Notice | None = None,
    ) -> HttpResponse: ...


def created(
    request: DeskRequest,
    show: Shows,
    create: Callable[[DeskRequest], UUID],
    *,
    act: str,
    there: str,
) -> HttpResponse:
    """A list, and its form: what `create` made is shown `there`."""
    if request.method != "POST":
        return show(request)
    try:
        with missing_is_404():
            made = create(request)
    except (Problem, Flawed) as error:
        form = again(act, request.POST, error)
        return show(request, form=form, status=status_of(error))
    return seen(request, there, made)


def acted(
    request: DeskRequest, id: UUID, show: Shows, acts: Mapping[str, Act], there: str
) -> HttpResponse:
    """One thing, and its buttons and forms: one of `acts`, and then `there` again."""
    if request.method != "POST":
        return show(request)
    act = request.POST.get("act", "")
    try:
        carry_out(request, id, acts, act)
    except (Problem, Flawed) as error:
        return refused(request, show, act, error)
    return seen(request, there, id)


def carry_out[T](
    request: DeskRequest,
    id: UUID,
    acts: Mapping[str, Callable[[DeskRequest, UUID], T]],
    act: str,
) -> T:
    """What was asked for, if there is such an act. Raises Http404, `Problem`, `Flawed`."""
    with missing_is_404():
        if act not in acts:
            raise NOT_FOUND()
        return acts[act](request, id)


def refused(
    request: DeskRequest,
    show: Shows,
    act: str,
    error: Problem | Flawed,
    *,
    typed: Container[str] = (),
) -> HttpResponse:
    """Beside the field where something was typed, as in the acts `typed`; else above."""
    status = status_of(error)
    if isinstance(error, Problem) and act not in typed:
        return show(request, notice=told(error), status=status)
    return show(request, form=again(act, request.POST, error), status=status)


def acting(request: DeskRequest) -> dict[str, Any]:
    """Who changes something, as verbs take it."""
    return {"tenant_id": request.member.tenant_id, "by": request.member.member_id}


def said(form: forms.Form) -> dict[str, Any]:
    """What was typed, as values. Raises `Flawed` with a sentence for each field."""
    if not form.is_valid():
        raise Flawed({name: str(errors[0]) for name, errors in form.errors.items()})
    return form.cleaned_data


def lifted(form: forms.Form) -> dict[str, Any]:
    """Which hold ends, and why, as the verb takes it. Raises `Flawed`."""
    told = said(form)
    return {"hold_id": told["hold"], "reason": told["reason"]}


def chosen(form: forms.Form) -> dict[str, Any]:
    """What a button or a list of ours sent. Anything else does not exist: 404."""
    if not form.is_valid():
        raise NOT_FOUND()
    return form.cleaned_data


def again(act: str, posted: QueryDict, error: Problem | Flawed) -> Form:
    """The form as it was typed, with what is wrong beside its fields."""
    return Form(
        act=act,
        typed={name: posted.get(name, "") for name in posted},
        ticked=frozenset(one for name in posted for one in posted.getlist(name)),
        errors=_errors(error),
    )


def status_of(error: Problem | Flawed) -> int:
    return error.status if isinstance(error, Problem) else 422


def told(problem: Problem) -> Notice:
    """A refusal that no field of a form is to blame for."""
    return Notice(
        title=problem.title,
        sentence=problem.detail,
        code=problem.code,
        tone="bad",
        icon="warn",
    )


def seen(request: DeskRequest, name: str, id: UUID | None = None) -> HttpResponse:
    """Off to a page that shows what became of it."""
    there = address(name, request.member.slug, id)
    return HttpResponseRedirect(there, status=303)


def _errors(error: Problem | Flawed) -> Mapping[str, str]:
    if isinstance(error, Flawed):
        return error.errors
    field = (error.pointer or "").lstrip("/") or FIELDS.get(error.code, "")
    return {field: error.detail}
