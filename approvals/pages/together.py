"""Several ticked requests, each with all of its action, before one answer to them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import FETCH_RAISE, F

from approvals.envelope import Envelope
from approvals.models import Decision, Grant, Request, Revision
from approvals.pages.addresses import address, short_name
from approvals.pages.case.exact import exact_of
from approvals.pages.index import Entry, Index
from approvals.pages.selection import Selection
from approvals.pages.viewer import Viewer
from approvals.presentation.together import TogetherPage, TogetherRow
from approvals.services.judging import names_secret
from approvals.services.seeing import note_sights
from checkpoints.models import Risk
from kernel.clock import database_now
from kernel.problems import Problem

MOST: Final = 25  # requests that one answer is given to
REVOKE: Final = "revoke"
STAND: Final = "stand"  # of an address: how they stand by now
VERDICTS: Final = ("approve", "reject", REVOKE)
V = Decision.Verdict
S = Request.State


def together_page(
    viewer: Viewer,
    selection: Selection,
    index: Index,
    verdict: str,
    ids: Sequence[UUID],
) -> TogetherPage:
    """What would be answered, on record as shown to the viewer.

    What they do not see is not there at all.
    """
    found = _read(viewer, ids[:MOST])
    now, starts = database_now(), _starts(found)
    entries = {entry.id: entry for entry in index.entries}
    why = _refusals(viewer, found, entries, verdict)
    rows = [
        replace(
            _row(viewer, selection, one, text, why[one.id]),
            waits_until=starts[one.id] if starts.get(one.id, now) > now else None,
        )
        for one, text in found
    ]
    offered = tuple(row for row in rows if not row.refused)
    _note(viewer, [UUID(row.id) for row in offered])
    query = selection.query
    return TogetherPage(
        verdict=verdict,
        href=address("together", viewer.slug, query=query),
        back_href=address("queue", viewer.slug, query=query),
        tool=offered[0].exact.tool if offered else "",
        offered=offered,
        refused=tuple(row for row in rows if row.refused),
        more=len(ids) > MOST,
        now=now,
    )


def answered_page(
    viewer: Viewer, page: TogetherPage, outcomes: Mapping[UUID, Problem | None]
) -> TogetherPage:
    """The same requests, by what came of the answer."""
    said = {str(id): why for id, why in outcomes.items()}
    stand = states_of(viewer, outcomes)
    rows = [
        replace(row, refused=_words(said[row.id]), state=stand.get(row.id, ""))
        for row in (*page.offered, *page.refused)
        if row.id in said
    ]
    done = tuple(row for row in rows if not row.refused)
    return replace(
        page,
        answered=True,
        offered=done,
        undo_href=_undo_href(page, done),
        stand_href=_href(page, (STAND, "1"), done) if done else "",
        onward_href=_onward_href(viewer, page) if done else "",
        refused=tuple(row for row in rows if row.refused),
    )


def states_of(viewer: Viewer, ids: Iterable[UUID]) -> dict[str, str]:
    """How those stand that the viewer sees."""
    seen = Request.objects.filter(id__in=list(ids), queue_id__in=viewer.sees)
    return {str(id): state for id, state in seen.values_list("id", "state")}


def _onward_href(viewer: Viewer, page: TogetherPage) -> str:
    """The list of what was decided; anybody's, where approvals were revoked."""
    own = "" if page.verdict == REVOKE else "1"
    decided = Selection(view="decided", mine=own)
    return address("queue", viewer.slug, query=decided.query)


def _undo_href(page: TogetherPage, done: Sequence[TogetherRow]) -> str:
    if page.verdict != V.APPROVE or not done:
        return ""
    return _href(page, ("verdict", REVOKE), done)


def _href(
    page: TogetherPage, asks: tuple[str, str], rows: Sequence[TogetherRow]
) -> str:
    query = urlencode([asks, *(("pick", row.id) for row in rows)])
    return f"{page.href}{'&' if '?' in page.href else '?'}{query}"


def _words(problem: Problem | None) -> str:
    return f"{problem.title}. {problem.detail}" if problem else ""


def _read(viewer: Viewer, ids: Sequence[UUID]) -> list[tuple[Request, Envelope]]:
    """In the order in which they were ticked. Two statements, however many ids."""
    rows = Request.objects.filter(id__in=ids, queue_id__in=viewer.sees)
    requests = {
        one.id: one for one in rows.select_related("tool").fetch_mode(FETCH_RAISE)
    }
    wordings = Revision.objects.filter(
        request_id__in=list(requests), number=F("request__revision")
    )
    sealed = {one.request_id: Envelope(bytes(one.envelope)) for one in wordings}
    return [(requests[id], sealed[id]) for id in dict.fromkeys(ids) if id in requests]


def _starts(found: Sequence[tuple[Request, Envelope]]) -> dict[UUID, datetime]:
    """When each live approval can be used."""
    ids = [request.id for request, _ in found]
    rows = Grant.objects.filter(request_id__in=ids, state=Grant.State.LIVE)
    return dict(rows.values_list("request_id", "not_before"))


def _note(viewer: Viewer, requests: Sequence[UUID]) -> None:
    rows = Revision.objects.filter(
        request_id__in=requests, number=F("request__revision")
    )
    note_sights(
        tenant_id=viewer.membership.tenant_id,
        member_id=viewer.id,
        revisions=dict(rows.values_list("request_id", "id")),
    )


def _refusals(
    viewer: Viewer,
    found: Sequence[tuple[Request, Envelope]],
    entries: Mapping[UUID, Entry],
    verdict: str,
) -> dict[UUID, str]:
    """As far as it is known before; the verb judges each of them again."""
    why = {
        request.id: _refusal(viewer, request, sealed, entries.get(request.id), verdict)
        for request, sealed in found
    }
    tools = [one.tool.name for one, _ in found if not why[one.id]]
    for request, _ in found:
        if (
            verdict == V.APPROVE
            and not why[request.id]
            and request.tool.name != tools[0]
        ):
            why[request.id] = "It is about another tool than the others."
    return why


def _refusal(
    viewer: Viewer,
    request: Request,
    sealed: Envelope,
    entry: Entry | None,
    verdict: str,
) -> str:
    if verdict == REVOKE:
        return _unrevocable(viewer, request)
    if entry is None or request.state != Request.State.PENDING:
        return f"It is {Request.State(request.state).label.lower()}."
    if verdict == V.REJECT:
        decides = request.queue_id in viewer.rights.get("decide", ())
        return "" if decides else "You do not decide on its queue."
    if {request.risk, request.tool.risk} != {Risk.LOW}:
        return "Its risk is not low: it is approved by itself."
    if not entry.mine:
        return "It does not need your key."
    if names_secret(request.tool, sealed):
        return "It uses a secret: it is approved by itself."
    return ""


def _unrevocable(viewer: Viewer, request: Request) -> str:
    if request.state == S.CONSUMED:
        return "Too late: it was executed."
    if request.state != S.APPROVED:
        return f"It is {S(request.state).label.lower()}."
    decides = request.queue_id in viewer.rights.get("decide", ())
    return "" if decides else "You do not decide on its queue."


def _row(
    viewer: Viewer, selection: Selection, request: Request, sealed: Envelope, why: str
) -> TogetherRow:
    return TogetherRow(
        id=str(request.id),
        label=short_name("REQ", request.id),
        title=request.title,
        href=address("case", viewer.slug, request.id, query=selection.query),
        exact=exact_of(request.tool, sealed),
        refused=why,
    )
