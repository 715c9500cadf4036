"""One answer to several requests that were ticked in the list, in two steps."""

from dataclasses import replace
from typing import Final
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from approvals.forms import LONGEST
from approvals.models import Decision
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.pages.selection import Selection
from approvals.pages.together import (
    MOST,
    REVOKE,
    STAND,
    VERDICTS,
    answered_page,
    states_of,
    together_page,
)
from approvals.presentation.together import TogetherPage
from approvals.services.together import decide_each, revoke_each
from approvals.views.request import DeskRequest, viewer_of
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.pages import member_page

TEMPLATE: Final = "approvals/together.html"
NEEDS_REASON: Final = "Say why; their agents and the auditor read it."
TOO_LONG: Final = "A reason has at most 4,000 characters."
NO_TEXT: Final = "Null characters are not allowed."


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def together(request: DeskRequest) -> HttpResponse:
    """GET together: each action in full; with `stand` how each stands by now, for the
    page after the answer. POST: the answer, and what came of each."""
    said = request.POST if request.method == "POST" else request.GET
    ids, verdict = _ticked(said), said.get("verdict", "")
    if request.method != "POST" and STAND in said:
        return _standing(request, ids[:MOST])
    if not ids or verdict not in VERDICTS:
        return redirect(_page(request, "reject", []).back_href)
    page = _page(request, verdict, ids)
    if request.method != "POST":
        return _show(request, page)
    return _answer(request, page, ids)


def _standing(request: DeskRequest, ids: list[UUID]) -> HttpResponse:
    with tenant_transaction(request.member.tenant_id):
        states = states_of(viewer_of(request), ids)
    return render(request, f"{TEMPLATE}#stand", {"states": states})


def _answer(request: DeskRequest, page: TogetherPage, ids: list[UUID]) -> HttpResponse:
    reason = request.POST.get("reason", "").replace("\r\n", "\n")
    error = _flaw(page.verdict, reason)
    if error:
        again = replace(page, error=error, reason=reason)
        return _show(request, again, status=422)
    outcomes = _carry_out(request, page.verdict, ids[:MOST], reason)
    recorded = None in outcomes.values()
    with tenant_transaction(request.member.tenant_id):
        answered = answered_page(viewer_of(request), page, outcomes)
    return _show(request, answered, status=200 if recorded else 409)


def _carry_out(
    request: DeskRequest, verdict: str, ids: list[UUID], reason: str
) -> dict[UUID, Problem | None]:
    """By the verb that would do it for one."""
    if verdict == REVOKE:
        return revoke_each(request.person, ids=ids, reason=reason)
    return decide_each(
        request.person,
        verdict=Decision.Verdict(verdict),
        reason=reason,
        seen={id: _digest(request.POST, id) for id in ids},
        tool=request.POST.get("tool", ""),
    )


def _flaw(verdict: str, reason: str) -> str:
    if len(reason) > LONGEST:
        return TOO_LONG
    if "\0" in reason:
        return NO_TEXT
    needed = verdict in {"reject", REVOKE} and not reason.strip()
    return NEEDS_REASON if needed else ""


def _ticked(said: QueryDict) -> list[UUID]:
    found = []
    for text in said.getlist("pick"):
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return list(dict.fromkeys(found))


def _digest(said: QueryDict, id: UUID) -> bytes:
    """What was shown of it; anything else is nothing, which fits no revision."""
    try:
        return bytes.fromhex(said.get(f"digest-{id}", ""))
    except ValueError:
        return b""


def _page(request: DeskRequest, verdict: str, ids: list[UUID]) -> TogetherPage:
    with tenant_transaction(request.member.tenant_id):
        viewer, selection = viewer_of(request), Selection.read(request.GET)
        index = read_index(viewer, selection)
        return together_page(viewer, selection, index, verdict, ids)


def _show(
    request: DeskRequest, page: TogetherPage, *, status: int = 200
) -> HttpResponse:
    with tenant_transaction(request.member.tenant_id):
        viewer = viewer_of(request)
        shell = frame(request.user, viewer, read_index(viewer), place="queue")
    shown = {"page": page, "shell": shell}
    return render(request, TEMPLATE, shown, status=status)
