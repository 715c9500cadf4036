"""Standing approvals, from rows; inside the tenant's scope."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import FETCH_RAISE, Exists, OuterRef, Q, QuerySet

from approvals.beforehand import constraints_of, state_of
from approvals.models import Decision, Grant, Request, StandingApproval
from approvals.pages.addresses import address, short_name
from approvals.pages.case.exact import target_text
from approvals.pages.viewer import Viewer
from approvals.policy.beforehand import Constraint
from approvals.presentation.arguments import exact_text
from approvals.presentation.shell import Empty, Notice, Pages
from approvals.presentation.standing import (
    BoundRow,
    StandingRow,
    StandingsView,
    StandingView,
    UseRow,
)
from kernel.clock import database_now
from kernel.problems import NOT_FOUND

PAGE: Final = 50
MOST_USES: Final = 200
NONE: Final = Empty(
    title="Nobody agreed to anything beforehand",
    sentence="Where a policy permits it, whoever approved a request may let others like"
    " it pass: look for “Allow others like it” on the case.",
    icon="key-waiting",
)


def standings_view(viewer: Viewer, *, before: str = "") -> StandingsView:
    """All that the viewer may see, newest first, in as many statements for any number."""
    rows = _visible(viewer).order_by("-id")
    cut = _uuid(before)
    found = list((rows.filter(id__lt=cut) if cut else rows)[: PAGE + 1])
    now = database_now()
    return StandingsView(
        rows=tuple(_row(one, viewer.slug, now) for one in found[:PAGE]),
        now=now,
        pages=_pages(viewer, found, is_first=cut is None),
        empty=None if found or cut else NONE,
    )


def standing_view(
    viewer: Viewer,
    standing_id: UUID,
    *,
    reason_error: str = "",
    notice: Notice | None = None,
) -> StandingView:
    """One of them, with its uses. Raises `not_found`."""
    one = _visible(viewer).filter(id=standing_id).first()
    if one is None:
        raise NOT_FOUND("No such standing approval.")
    now, uses = database_now(), _answered(one)
    seen = [each for each in uses if each.request.queue_id in viewer.sees]
    return StandingView(
        row=_row(one, viewer.slug, now),
        target=target_text(one.target),
        preconditions=tuple(each["field"] for each in one.preconditions),
        risk=one.risk,
        reason=one.reason,
        request_label=short_name("REQ", one.request_id),
        request_href=_case(viewer, one.request),
        uses=tuple(_use(each, viewer.slug) for each in seen),
        unseen=len(uses) - len(seen),
        now=now,
        back_href=address("standing", viewer.slug),
        act_href=_act_href(viewer, one),
        revoked_at=one.revoked_at,
        revoked_by=one.revoked_by.name if one.revoked_by else "",
        revoked_reason=one.revoked_reason,
        reason_error=reason_error,
        notice=notice,
    )


def bound_rows(constraints: list[Constraint]) -> tuple[BoundRow, ...]:
    """What each argument may be; those that may differ first."""
    ordered = sorted(constraints, key=lambda one: (one.is_exact, one.path))
    return tuple(map(bound_row, ordered))


def bound_row(one: Constraint) -> BoundRow:
    words, values = _WORDS[one.kind], _values(one)
    return BoundRow(pointer=one.path, exact=one.is_exact, words=words, values=values)


_WORDS: Final[Mapping[str, str]] = {
    "exactly": "exactly",
    "between": "from, to",
    "one_of": "one of",
    "prefix": "begins with",
}


def _values(one: Constraint) -> tuple[str, ...]:
    if one.kind == "one_of":
        return tuple(map(exact_text, one.given["values"]))
    named = ("value", "least", "most", "prefix")
    return tuple(exact_text(one.given[name]) for name in named if name in one.given)


def _visible(viewer: Viewer) -> QuerySet[StandingApproval]:
    rows = StandingApproval.objects.filter(
        Q(author_id=viewer.id) | Q(request__queue_id__in=viewer.sees)
    )
    near = rows.select_related(
        "tool", "agent", "author", "revoked_by", "request__session"
    )
    return near.fetch_mode(FETCH_RAISE)


def _row(one: StandingApproval, slug: str, now: datetime) -> StandingRow:
    return StandingRow(
        id=str(one.id),
        label=short_name("STA", one.id),
        href=address("standing_one", slug, one.id),
        tool=one.tool.name,
        agent=one.agent.name,
        environment=one.environment,
        author=one.author.name,
        state=state_of(one, now),
        used=one.used,
        uses=one.uses,
        expires_at=one.expires_at,
        made_at=one.created_at,
        bounds=bound_rows(constraints_of(one)),
    )


def _answered(one: StandingApproval) -> list[Decision]:
    """What it answered, newest first; `began`: the approval of it was used."""
    consumed = Grant.objects.filter(
        revision_id=OuterRef("revision_id"), state=Grant.State.CONSUMED
    )
    rows = Decision.objects.filter(standing_id=one.id).annotate(began=Exists(consumed))
    rows = rows.select_related("request").order_by("-created_at", "-id")
    return list(rows.fetch_mode(FETCH_RAISE)[:MOST_USES])


def _use(decision: Decision, slug: str) -> UseRow:
    request = decision.request
    return UseRow(
        label=short_name("REQ", request.id),
        title=request.title,
        href=address("case", slug, request.id),
        state=request.state,
        at=decision.created_at,
        began=decision.began,  # type: ignore[attr-defined]  # annotated
    )


def _case(viewer: Viewer, request: Request) -> str:
    seen = request.queue_id in viewer.sees
    return address("case", viewer.slug, request.id) if seen else ""


def _act_href(viewer: Viewer, one: StandingApproval) -> str:
    """Its author ends it, and whoever administers the tenant."""
    may = viewer.membership.administers or one.author_id == viewer.id
    over = one.revoked_at is not None
    return address("standing_one", viewer.slug, one.id) if may and not over else ""


def _pages(viewer: Viewer, found: list[StandingApproval], *, is_first: bool) -> Pages:
    here, more = address("standing", viewer.slug), len(found) > PAGE
    after = {"before": str(found[PAGE - 1].id)} if more else {}
    return Pages(
        shown=len(found[:PAGE]),
        previous_href="" if is_first else here,
        next_href=address("standing", viewer.slug, query=after) if more else "",
    )


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
