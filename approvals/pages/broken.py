"""Glasses that were broken: which nobody has looked into, and what was said of others."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.db.models import FETCH_RAISE, QuerySet

from approvals.envelope import Envelope
from approvals.glass import RIGHT
from approvals.models import Decision, Request
from approvals.pages.addresses import address, short_name
from approvals.pages.case.exact import exact_of
from approvals.pages.viewer import Viewer
from approvals.presentation.glass import BrokenRow, BrokenView, ReviewView
from approvals.presentation.shell import Empty, Notice
from approvals.services.post_review import judge_reviewing, seen_broken
from kernel.clock import database_now
from kernel.problems import Problem

MOST: Final = 50
NOWHERE: Final = frozenset[UUID]()
NONE: Final = Empty(
    title="No glass was broken",
    sentence="Whoever approves alone in an emergency stands here until a second person "
    "has looked into it.",
)


def broken_view(viewer: Viewer) -> BrokenView:
    """On the queues that the viewer sees: open ones first, then the newest."""
    seen = _broken().filter(request__queue_id__in=viewer.sees)
    waiting = seen.filter(reviewed_at=None)
    found = [*waiting.order_by("created_at")[:MOST]]
    looked = seen.exclude(reviewed_at=None).order_by("-created_at")
    found += looked[: MOST - len(found)]
    return BrokenView(
        now=database_now(),
        open=waiting.count(),
        rows=tuple(_row(viewer, one) for one in found),
        most=MOST,
        empty=None if found else NONE,
    )


def open_reviews(viewer: Viewer) -> int:
    """How many nobody has looked into: for who oversees, all; for others, those of other
    people on queues where they may look into them."""
    rows = Decision.objects.filter(broke_glass=True, reviewed_at=None)
    if viewer.membership.oversees:
        return rows.count()
    acting = viewer.rights.get("decide", NOWHERE) | viewer.rights.get(RIGHT, NOWHERE)
    queues = acting.intersection(viewer.sees)
    if not queues:
        return 0
    return rows.filter(request__queue__in=queues).exclude(member=viewer.id).count()


def alarm(viewer: Viewer) -> Notice | None:
    """On every page of those who may look into it, until somebody has."""
    waiting = open_reviews(viewer)
    if not waiting:
        return None
    glasses = "broken glass" if waiting == 1 else "broken glasses"
    return Notice(
        title=f"{waiting} {glasses} to look into",
        href=address("broken_glass", viewer.slug),
        icon="warn",
    )


def review_view(
    viewer: Viewer,
    decision_id: UUID,
    *,
    typed: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    notice: Notice | None = None,
) -> ReviewView:
    """One of them, whole. Raises `not_found` for what the viewer does not see."""
    seen_broken(viewer.person, decision_id)
    rows = _broken().select_related("request__tool", "revision")
    one = rows.get(id=decision_id)
    return ReviewView(
        now=database_now(),
        row=_row(viewer, one),
        status=Request.State(one.request.state).label.lower(),
        exact=exact_of(one.request.tool, Envelope(bytes(one.revision.envelope))),
        back_href=address("broken_glass", viewer.slug),
        typed=typed or {},
        errors=errors or {},
        notice=notice,
    )


def _broken() -> QuerySet[Decision]:
    rows = Decision.objects.filter(broke_glass=True)
    known = rows.select_related("request", "revision", "member", "reviewed_by")
    return known.fetch_mode(FETCH_RAISE)


def _row(viewer: Viewer, one: Decision) -> BrokenRow:
    assert one.member is not None
    return BrokenRow(
        label=short_name("REQ", one.request_id),
        title=one.request.title,
        case_href=address("case", viewer.slug, one.request_id),
        href=address("post_review", viewer.slug, one.id),
        by=one.member.name,
        at=one.created_at,
        reason=one.reason,
        review=one.review,
        reviewed_by=one.reviewed_by.name if one.reviewed_by else "",
        reviewed_at=one.reviewed_at,
        why_not=_why_not(viewer, one),
    )


def _why_not(viewer: Viewer, one: Decision) -> str:
    if one.review:
        return ""
    try:
        judge_reviewing(viewer.member, one)
    except Problem as problem:
        return problem.detail
    return ""
