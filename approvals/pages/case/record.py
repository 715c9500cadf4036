"""Everything about one request, read in one go, in as many statements for any case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from django.db.models import FETCH_RAISE

from approvals.access import holders
from approvals.delegations import in_force, on_queue
from approvals.envelope import Envelope
from approvals.models import (
    Comment,
    Decision,
    Delegation,
    Grant,
    Nudge,
    Request,
    ResumeJob,
    Revision,
    Sight,
    Snooze,
    VerificationReport,
)
from approvals.pages.case.alike import Alike, alike_to
from approvals.pages.case.reading import Reading, reading_of
from approvals.pages.case.rows import kinds_kept, rows_of
from approvals.pages.case.side import asking_side
from approvals.pages.sealed import sealed_obligation, sealed_record
from approvals.pages.viewer import Viewer
from approvals.policy import Obligation
from approvals.problems import NOT_FOUND
from approvals.separation import Standing, standing
from approvals.states import OPEN
from audit.evidence import Signed, signed_entries
from checkpoints.models import Attempt, Effect
from checkpoints.secrets import Use, uses_in_call
from kernel.clock import database_now
from sessions.models import Fact
from tenants.models import Member
from tenants.queries import asks_unusually

MOST_REPORTS: Final = 20
MOST_SIGHTS: Final = 40
MOST_COMMENTS: Final = 60  # the newest; the audit log has them all
TAKEN_BACK: Final = frozenset({Request.State.REVOKED, Request.State.CANCELLED})


@dataclass(frozen=True, kw_only=True)
class CaseRecord:
    """One request as it stands, and the person who looks at it.

    `envelope` is the sealed record of the current revision and the only source of the
    action; `before` is the one of the revision before, `alike` the last approved one of the
    same agent and tool. `rights` are the viewer's on the
    request's queue. `standing` is None when the sealed record cannot be read.
    `asking_side` says of each person on it why they cannot turn a key; `leaves` are the
    delegations in force on the queue. `ending` says who took it back, where it was taken
    back. `snoozed` is the viewer's own.
    """

    viewer: Viewer
    rights: frozenset[str]
    request: Request
    revision: Revision
    revisions: Sequence[Revision]
    envelope: Envelope
    before: Envelope | None
    alike: Alike | None
    decisions: Sequence[Decision]
    grant: Grant | None
    jobs: Sequence[ResumeJob]
    reports: Sequence[VerificationReport]
    effect: Effect | None
    attempts: Sequence[Attempt]
    facts: Sequence[Fact]
    comments: Sequence[Comment]
    sights: Sequence[Sight]
    standing: Standing | None
    secrets: Sequence[Use]
    asking_side: Mapping[UUID, str]
    leaves: Sequence[Delegation]
    ending: Signed | None
    nudge: Nudge | None
    snoozed: Snooze | None
    people: Mapping[UUID, str]
    reading: Reading
    now: datetime

    @property
    def slug(self) -> str:
        return self.viewer.slug

    @property
    def stream_of(self) -> dict[str, str]:
        """What its event stream tells of: the request, its run's facts and effects."""
        return {"request": str(self.request.id), "run": str(self.request.run_id)}

    @property
    def is_open(self) -> bool:
        return self.request.state in OPEN

    @property
    def is_decidable(self) -> bool:
        """Whether an answer could still be recorded, by whomever."""
        due = self.request.due_at
        pending = self.request.state == Request.State.PENDING
        return pending and self.is_intact and due is not None and self.now < due

    @cached_property
    def is_intact(self) -> bool:
        """Whether the sealed bytes are canonical and those of the stated digest."""
        return self.envelope.is_intact(bytes(self.revision.digest))

    @cached_property
    def deciders(self) -> frozenset[UUID]:
        """Who may decide on the queue now, whoever asks."""
        queue = self.request.queue
        return holders(
            tenant_id=queue.tenant_id, queue_id=queue.id, permission="decide"
        )

    @cached_property
    def sealed(self) -> Mapping[str, Any]:
        """The sealed record, or nothing when the bytes are no record at all."""
        return sealed_record(self.envelope)

    @property
    def obligation(self) -> Obligation | None:
        return self.standing.obligation if self.standing else None

    @property
    def current_decisions(self) -> list[Decision]:
        """Decisions on the wording that is asked now, counted or not."""
        return [one for one in self.decisions if one.revision_id == self.revision.id]

    @property
    def counted(self) -> list[Decision]:
        return [one for one in self.current_decisions if one.dismissed_at is None]

    @property
    def answers(self) -> int:
        """The same as `answers_until_now`."""
        return _answers(self.decisions)

    @property
    def mine(self) -> Decision | None:
        """The viewer's answer to the current revision, or the one given for them."""
        return next((one for one in self._own if not one.taken_back_by_id), None)

    @property
    def taken_back(self) -> Decision | None:
        """The last of those that was taken back."""
        gone = [one for one in self._own if one.taken_back_by_id]
        return gone[-1] if gone else None

    @property
    def _own(self) -> list[Decision]:
        me, given = self.viewer.id, self.current_decisions
        return [one for one in given if me in {one.member_id, one.on_behalf_of_id}]

    @property
    def report(self) -> VerificationReport | None:
        """The newest report, whichever revision it was on."""
        return self.reports[0] if self.reports else None

    def name(self, member_id: UUID | None) -> str:
        """A person by name, however long ago they were here."""
        return self.people.get(member_id, "somebody") if member_id else "a policy"


def read_case(
    viewer: Viewer, request_id: UUID, supposed: UUID | None = None
) -> CaseRecord:
    """Raises `not_found` for a request on a queue that the viewer does not see.

    `supposed` is another request that is taken as approved.
    Rights are looked at before anything else of the request is read.
    """
    request = _visible_request(viewer, request_id)
    revision, before = _wordings(request)
    decisions = _decisions(request)
    effect = rows_of(request, Effect).order_by("-id").first()
    envelope, now = Envelope(bytes(revision.envelope)), database_now()
    return CaseRecord(
        viewer=viewer,
        rights=viewer.rights_on(request.queue_id),
        request=request,
        revision=revision,
        revisions=_revisions(request, revision),
        envelope=envelope,
        before=before,
        alike=alike_to(viewer, request, supposed),
        decisions=decisions,
        grant=rows_of(request, Grant).order_by("-created_at", "-id").first(),
        jobs=list(rows_of(request, ResumeJob).order_by("created_at", "id")),
        reports=_reports(request),
        effect=effect,
        attempts=_attempts(effect),
        comments=_comments(request),
        sights=_sights(request),
        facts=list(Fact.objects.filter(run_id=request.run_id).order_by("name")),
        standing=_standing(request, revision, envelope),
        secrets=_secrets(request, envelope),
        asking_side=asking_side(request, revision, envelope),
        leaves=list(in_force(now).filter(on_queue(request.queue_id))),
        ending=_ending(request),
        nudge=rows_of(request, Nudge).filter(revision=request.revision).first(),
        snoozed=_snoozed(viewer, request, _answers(decisions), now),
        people=_people(request.tenant_id),
        reading=reading_of(viewer, request.run.workflow, now),
        now=now,
    )


def _answers(decisions: Sequence[Decision]) -> int:
    return len(decisions) + sum(bool(one.taken_back_by_id) for one in decisions)


def _snoozed(
    viewer: Viewer, request: Request, answers: int, now: datetime
) -> Snooze | None:
    """The viewer's, while it holds: as the list has it."""
    rows = rows_of(request, Snooze).filter(member_id=viewer.id)
    return rows.filter(
        until__gt=now, revision=request.revision, state=request.state, answers=answers
    ).first()


def _ending(request: Request) -> Signed | None:
    """No row of its own says who revoked or withdrew it."""
    if request.state not in TAKEN_BACK:
        return None
    kinds, subjects = [f"request.{request.state}"], [request.id]
    found = signed_entries(request.tenant_id, kinds=kinds, subjects=subjects)
    return found[-1] if found else None


def _sights(request: Request) -> list[Sight]:
    """Who looked first, and so on."""
    rows = rows_of(request, Sight).select_related("revision")
    first = rows.defer("revision__envelope").order_by("created_at")
    return list(first.fetch_mode(FETCH_RAISE)[:MOST_SIGHTS])


def _visible_request(viewer: Viewer, request_id: UUID) -> Request:
    rows = Request.objects.filter(id=request_id, queue_id__in=viewer.sees)
    rows = rows.select_related(
        "tool", "agent", "queue", "session", "run__workflow", "pause__checkpoint"
    ).defer("pause__checkpoint__stored")
    rows = rows.annotate(unusual=asks_unusually("agent_id"), kinds=kinds_kept())
    found = rows.fetch_mode(FETCH_RAISE).first()
    if found is None:
        raise NOT_FOUND("No such request.")
    return found


def _revisions(request: Request, current: Revision) -> list[Revision]:
    """All of them, in order."""
    if request.revision == 1:
        return [current]
    rows = Revision.objects.filter(request_id=request.id)
    return list(rows.defer("envelope").order_by("number"))


def _wordings(request: Request) -> tuple[Revision, Envelope | None]:
    """The current revision, and the sealed record of the one before it."""
    numbers = [request.revision, request.revision - 1]
    rows = Revision.objects.filter(request_id=request.id, number__in=numbers)
    found = {one.number: one for one in rows}
    earlier = found.get(request.revision - 1)
    before = Envelope(bytes(earlier.envelope)) if earlier else None
    return found[request.revision], before


def _decisions(request: Request) -> list[Decision]:
    rows = rows_of(request, Decision)
    rows = rows.select_related("member", "on_behalf_of", "revision")
    rows = rows.defer("revision__envelope")
    return list(rows.order_by("created_at", "id").fetch_mode(FETCH_RAISE))


def _reports(request: Request) -> list[VerificationReport]:
    rows = rows_of(request, VerificationReport)
    return list(rows.order_by("-id")[:MOST_REPORTS])


def _comments(request: Request) -> list[Comment]:
    rows = rows_of(request, Comment)
    return list(rows.order_by("-created_at", "-id")[:MOST_COMMENTS])


def _attempts(effect: Effect | None) -> list[Attempt]:
    if effect is None:
        return []
    return list(Attempt.objects.filter(effect_id=effect.id).order_by("number"))


def _standing(
    request: Request, revision: Revision, envelope: Envelope
) -> Standing | None:
    """Who may count now; None when the record does not say what is owed."""
    obligation = sealed_obligation(envelope)
    if obligation is None or not sealed_record(envelope):
        return None
    return standing(request, revision, envelope, obligation)


def _secrets(request: Request, envelope: Envelope) -> list[Use]:
    """What the call would use, of the tool and the names as they are now."""
    arguments = sealed_record(envelope).get("arguments", {})
    return uses_in_call(request.tool, arguments)


def _people(tenant_id: UUID) -> dict[UUID, str]:
    rows = Member.objects.filter(tenant_id=tenant_id)
    return dict(rows.values_list("id", "name"))
