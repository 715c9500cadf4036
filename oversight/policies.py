"""Pages of policies: the list, one with its history, the editor and its simulator."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.presentation.shell import Notice, Shell
from approvals.services.policies import (
    check_policy,
    check_usable,
    cosign_policy,
)
from approvals.services.policy_drafts import (
    publish_policy_draft,
    save_policy_draft,
    withdraw_policy_draft,
)
from approvals.trial import Progress, untold
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import NOT_FOUND, Problem
from kernel.scope import tenant_transaction
from oversight.pages.policies import (
    known_name,
    open_draft,
    policies_view,
    policy_place,
    policy_view,
)
from oversight.pages.policy_edit import policy_form
from oversight.pages.policy_trial import is_long, read_trial, trial_limit
from oversight.presentation.policy import TrialUnderWay, TrialView
from oversight.presentation.policy_form import Typed, field_of, read_definition
from oversight.streamed import streamed_trial
from tenants.access import ADMINISTRATORS, OVERSEERS
from tenants.pages import member_page
from tenants.services import ask_for_second_admin

PLACE: Final = "policies"
POLICY: Final = "oversight/policy.html"
FORM: Final = "oversight/policy_edit.html"
LONGEST_NOTE: Final = 2_000
NOTHING_SEEN: Final = ":"  # no draft, and nothing in force


@member_page(roles=OVERSEERS)
@require_http_methods(["GET", "HEAD", "POST"])
def policies(request: DeskRequest) -> HttpResponse:
    """GET policies: all of them. POST: ask for a second admin from now on."""
    if request.method != "POST":
        return _show_all(request)
    try:
        ask_for_second_admin(**_acting(request), asked=True)
    except Problem as problem:
        return _show_all(request, problem)
    return HttpResponseRedirect(policy_place("policies", request.member.slug))


@member_page(roles=OVERSEERS)
@require_safe
def policy(request: DeskRequest, name: str) -> HttpResponseBase:
    """GET policies/{name}: what it says, its history and draft; `try` simulates that."""
    limit = request.GET.get("try", "")
    run = _draft_to_try(request, name, trial_limit(limit)) if limit else None
    if run is None or not is_long(trial_limit(limit)):
        return _show(request, name, trial=run(untold) if run else None)
    context = _policy_context(request, name, trial=TrialUnderWay())
    return streamed_trial(request, POLICY, context, run, focus=False)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: DeskRequest, name: str = "") -> HttpResponseBase:
    """GET policies/{name}/edit: the form.

    POST: keep it as the draft, try it out, or change how many rules it has.
    """
    if request.method != "POST":
        return _form(request, name)
    typed = Typed.read(request.POST)
    act, _, place = request.POST.get("act", "keep").partition("-")
    if act == "more":
        return _form(request, name, typed=typed.with_another_rule())
    if act == "drop":
        return _form(request, name, typed=typed.without_rule(place))
    return _try(request, name, typed) if act == "try" else _keep(request, name, typed)


@member_page(roles=ADMINISTRATORS)
@require_POST
def act(request: DeskRequest, name: str) -> HttpResponse:
    """POST policies/{name}/act: one of `ACTS`, on the draft or revision that was seen."""
    verb = ACTS.get(request.POST.get("act", ""))
    try:
        with missing_is_404():
            if verb is None:
                raise NOT_FOUND()
            verb(**_acting(request), name=name, seen=request.POST.get("seen", ""))
    except Problem as problem:
        return _show(request, name, problem=problem)
    with tenant_transaction(request.member.tenant_id):
        there = known_name(name)
    slug = request.member.slug
    to = policy_place("policy", slug, name) if there else policy_place("policies", slug)
    return HttpResponseRedirect(to)


def _retire(**given: Any) -> None:
    """To take it out of force is drafted like any other change."""
    save_policy_draft(**given, definition=None)


def _cosign(*, seen: str, **given: Any) -> None:
    """About what is in force alone."""
    cosign_policy(**given, seen=seen.partition(":")[2])


ACTS: Final[Mapping[str, Callable[..., object]]] = {
    "publish": publish_policy_draft,
    "withdraw": withdraw_policy_draft,
    "retire": _retire,
    "cosign": _cosign,
}


def _keep(request: DeskRequest, name: str, typed: Typed) -> HttpResponse:
    given, read = name or typed.name.strip(), read_definition(typed)
    if read.errors:
        return _form(request, name, typed=typed, errors=read.errors)
    try:
        save_policy_draft(
            **_acting(request),
            name=given,
            definition=read.definition,
            note=typed.note[:LONGEST_NOTE],
            seen=typed.seen or NOTHING_SEEN,
        )
    except Problem as problem:
        return _form(request, name, typed=typed, errors=_errors(problem))
    return HttpResponseRedirect(policy_place("policy", request.member.slug, given))


def _try(request: DeskRequest, name: str, typed: Typed) -> HttpResponseBase:
    """The draft as it is typed, before anything is kept."""
    given, read = name or typed.name.strip() or "new", read_definition(typed)
    limit = trial_limit(request.POST.get("limit", ""))
    if read.errors:
        return _form(request, name, typed=typed, errors=read.errors, limit=limit)
    try:
        check_policy(given, read.definition)
        with tenant_transaction(request.member.tenant_id):
            check_usable(read.definition)
    except Problem as problem:
        return _form(request, name, typed=typed, errors=_errors(problem), limit=limit)
    member = request.member.member_id
    run = partial(_tried, request, given, read.definition, limit, member)
    if not is_long(limit):
        return _form(request, name, typed=typed, limit=limit, trial=run(untold))
    context = _form_context(
        request, name, typed=typed, limit=limit, trial=TrialUnderWay()
    )
    return streamed_trial(request, FORM, context, run, focus=True)


def _draft_to_try(
    request: DeskRequest, name: str, limit: int
) -> Callable[[Progress], TrialView] | None:
    """The kept draft, if there is one."""
    with tenant_transaction(request.member.tenant_id):
        draft = open_draft(name)
    if draft is None:
        return None
    return partial(_tried, request, name, draft.definition, limit, draft.author_id)


def _tried(
    request: DeskRequest,
    name: str,
    definition: Mapping[str, Any] | None,
    limit: int,
    author: UUID | None,
    progress: Progress,
) -> TrialView:
    """Read in the scope, judged outside of it."""
    with tenant_transaction(request.member.tenant_id):
        trial = read_trial(
            viewer_of(request),
            name,
            definition,
            limit=limit,
            author=author,
            progress=progress,
        )
    return trial.view(progress)


def _show_all(request: DeskRequest, problem: Problem | None = None) -> HttpResponse:
    with tenant_transaction(request.member.tenant_id):
        notice = _notice(problem) if problem else None
        view = policies_view(viewer_of(request), notice=notice)
        context = {"shell": _shell(request), "policies": view}
    status = problem.status if problem else 200
    return render(request, "oversight/policies.html", context, status=status)


def _show(
    request: DeskRequest,
    name: str,
    *,
    problem: Problem | None = None,
    trial: TrialView | None = None,
) -> HttpResponse:
    notice = _notice(problem) if problem else None
    context = _policy_context(request, name, notice=notice, trial=trial)
    status = problem.status if problem else 200
    return render(request, POLICY, context, status=status)


def _policy_context(request: DeskRequest, name: str, **shown: Any) -> dict[str, Any]:
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        view = policy_view(
            viewer_of(request),
            name,
            revision=request.GET.get("revision", ""),
            against=request.GET.get("against", ""),
            **shown,
        )
        return {"shell": _shell(request), "policy": view}


def _form(
    request: DeskRequest,
    name: str,
    *,
    errors: Mapping[str, str] | None = None,
    **shown: Any,
) -> HttpResponse:
    context = _form_context(request, name, errors=errors, **shown)
    return render(request, FORM, context, status=422 if errors else 200)


def _form_context(request: DeskRequest, name: str, **shown: Any) -> dict[str, Any]:
    with tenant_transaction(request.member.tenant_id):
        view = policy_form(viewer_of(request), name, **shown)
        return {"shell": _shell(request), "form": view}


def _shell(request: DeskRequest) -> Shell:
    viewer = viewer_of(request)
    return frame(request.user, viewer, read_index(viewer), place=PLACE)


def _acting(request: DeskRequest) -> dict[str, Any]:
    return {"tenant_id": request.member.tenant_id, "by": request.member.member_id}


def _errors(problem: Problem) -> Mapping[str, str]:
    field = field_of(problem.pointer)
    said = problem.detail if field else f"{problem.title}. {problem.detail}"
    return {field: said}


def _notice(problem: Problem) -> Notice:
    return Notice(
        title=problem.title,
        sentence=problem.detail,
        code=problem.code,
        tone="bad",
        icon="warn",
    )
