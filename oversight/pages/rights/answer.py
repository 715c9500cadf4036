"""Who could have approved a request at a time, and under which policies."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from approvals.checks import check_wording
from approvals.checks.evidence import DECIDED
from approvals.envelope import Envelope
from approvals.models import Decision, Grant, Request, Revision
from approvals.pages.sealed import sealed_expiry
from approvals.separation import Key
from audit.models import Entry
from kernel.problems import NOT_FOUND
from oversight.pages.rights.case import Case, Owed
from oversight.pages.rights.then import Then, rights_at
from oversight.pages.rights.turned import turned_by
from oversight.pages.rights.ways import (
    GlassThen,
    StandingThen,
    glass_then,
    standings_then,
)

TOO_EARLY: Final = "It had not been asked yet."
SPOILT: Final = "What was asked has been erased, or is not as the audit log has it."
OPENED: Final = frozenset({"request.asked", "request.revised"})
ENDED: Final = {
    "request.rejected": "rejected",
    "request.answered": "answered",
    "request.expired": "expired",
    "request.cancelled": "cancelled",
    "request.superseded": "superseded",
    "grant.issued": "approved",
    DECIDED: "sent back for changes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """How a question ended, and when."""

    state: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`pinned` decided; `current` was asked as well when the approval was used.

    `turned` are the keys that had turned by then. `state` is how the question stood: pending, or what had become of it. `spoilt`
    policies in force are not stored as they were signed, and are not in it.
    """

    then: Then
    request: Request
    revision: int
    digest: str
    state: str
    pinned: Owed
    current: Owed
    turned: tuple[Key, ...]
    spoilt: int
    standings: tuple[StandingThen, ...]
    glass: GlassThen


def who_could_have(request: Request, at: datetime) -> Answer:
    """Inside the tenant's scope. Raises `not_found` for a time before it was asked, and
    where what was asked is not what was signed.

    `request` comes with agent, key, run (with workflow) and session.
    """
    rows = Revision.objects.filter(request=request, created_at__lte=at)
    revision = rows.order_by("-number").first()
    if revision is None:
        raise NOT_FOUND(TOO_EARLY)
    if check_wording(revision) is not None:
        raise NOT_FOUND(SPOILT)
    then = rights_at(request.tenant_id, at)
    envelope = Envelope(bytes(revision.envelope))
    case = Case(then, request, revision, envelope, _queue(request, revision))
    pinned, current = case.owed(envelope.obligation), case.owed(case.judged())
    return Answer(
        then=then,
        request=request,
        revision=revision.number,
        digest=bytes(revision.digest).hex(),
        state=_state(request, envelope, at),
        pinned=pinned,
        current=current,
        turned=turned_by(revision, at),
        spoilt=case.spoilt,
        standings=standings_then(case, current.obligation),
        glass=glass_then(case, pinned, current),
    )


def _queue(request: Request, revision: Revision) -> UUID:
    """On which it was asked in those words: its signed entry says so."""
    rows = Entry.objects.filter(
        tenant_id=request.tenant_id, subject_id=request.id, kind__in=list(OPENED)
    )
    for said in rows.values_list("data", flat=True):
        if said["revision"] == revision.number and "queue" in said:
            return UUID(said["queue"])
    return request.queue_id


def closed(request: Request) -> Closed | None:
    """How the question ended that was asked last; None while it is open."""
    found = None
    for kind, at in _turns(request).values_list("kind", "at"):
        if kind in OPENED:
            break
        found = Closed(state=ENDED[kind], at=at)
    return found


def last_open(request: Request, end: Closed) -> datetime:
    """The moment before its end; of what nobody answered, that before its time was over."""
    revision = Revision.objects.filter(request=request).latest("number")
    due = sealed_expiry(Envelope(bytes(revision.envelope)))
    return min(end.at, due or end.at) - timedelta.resolution


def _turns(request: Request) -> QuerySet[Entry]:
    """The entries that opened or closed the question, the newest first."""
    grants = Grant.objects.filter(request=request).values_list("id", flat=True)
    sent_back = Decision.objects.filter(
        request=request, verdict=Decision.Verdict.REQUEST_CHANGES
    ).values_list("id", flat=True)
    rows = Entry.objects.filter(
        tenant_id=request.tenant_id,
        subject_id__in=[request.id, *grants, *sent_back],
        kind__in=[*OPENED, *ENDED],
    )
    return rows.order_by("-seq")


def _state(request: Request, envelope: Envelope, at: datetime) -> str:
    """By the last of them until then; a sweep may come late."""
    turns = _turns(request).filter(at__lte=at)
    last = turns.values_list("kind", flat=True).first()
    late = "expired" if at >= envelope.decide_by else "pending"
    return ENDED.get(last or "", late)
