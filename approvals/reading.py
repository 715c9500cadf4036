"""An approval as its agent reads it: what it is, and what to do next."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, F, OuterRef, QuerySet

from approvals.envelope import Envelope
from approvals.models import (
    Context,
    Decision,
    Grant,
    Pause,
    Request,
    ResumeJob,
    Revision,
    VerificationReport,
)
from approvals.problems import NOT_FOUND
from approvals.states import OPEN
from checkpoints.models import Effect, Tool
from tenants.models import Member, TenantModel

S = Request.State
ENDED: Final = (Effect.State.CONFIRMED, Effect.State.FAILED, Effect.State.ABSENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything about one request at one moment, read inside the tenant's scope."""

    request: Request
    revision: Revision
    pause: Pause
    grant: Grant | None
    effect: Effect | None
    report: VerificationReport | None
    decisions: tuple[Decision, ...]
    jobs: tuple[ResumeJob, ...]
    context: Context | None = None
    others_act: bool = False

    @property
    def is_decided(self) -> bool:
        """Whether people, policy or time have answered."""
        return self.request.state not in OPEN

    @property
    def is_resolved(self) -> bool:
        """Whether nothing more will happen, and the run may go on from it."""
        if self.request.state in OPEN | {S.APPROVED}:
            return False
        if self.effect is not None and self.effect.state not in ENDED:
            return False
        return (
            self.pause.closed_at is not None or self._is_released() or self._is_undone()
        )

    def _is_undone(self) -> bool:
        """Nothing comes of it, and its agent was woken, while others of its pause are
        left to be acted on: the agent need not act on those in order to hear of this."""
        woken = any(job.code == "woken" for job in self.jobs)
        return woken and self.others_act and self.request.state != S.CONSUMED

    def _is_released(self) -> bool:
        """Of a pause that waits for each alone, once its own work is done."""
        each = self.pause.resume_when == Pause.Until.EACH
        return each and all(job.due_at is None for job in self.jobs)

    @property
    def is_redeemable(self) -> bool:
        """Verified and waiting for its agent; or handed over, and not reported yet."""
        if self.request.tool.mode != Tool.Mode.AGENT:
            return False
        if self.request.state == S.CONSUMED:
            return self.effect is not None and self.effect.state == "started"
        live = self.grant is not None and self.grant.state == Grant.State.LIVE
        return live and any(
            job.grant_id == self.grant.id and job.code == "ready"  # type: ignore[union-attr]
            for job in self.jobs
        )


def own_snapshots(
    asked: Collection[tuple[UUID, UUID]],
) -> dict[tuple[UUID, UUID], Snapshot]:
    """By agent and id, those of these requests that are the agent's own."""
    ids = [request_id for _, request_id in asked]
    rows = Request.objects.filter(id__in=ids).select_related("tool", "queue")
    own = [one for one in rows if (one.agent_id, one.id) in asked]
    found = snapshots(own) if own else []
    return {(one.request.agent_id, one.request.id): one for one in found}


def snapshot(request: Request | None) -> Snapshot:
    """Raises `not_found` where there is no request."""
    if request is None:
        raise NOT_FOUND("No such request.")
    return snapshots([request])[0]


def snapshots(requests: Sequence[Request]) -> list[Snapshot]:
    """All of them in as many queries as one takes; with their tools and queues at hand."""
    ids = [request.id for request in requests]
    of = {"request_id__in": ids}
    pauses = _pauses(requests)
    current = Revision.objects.filter(**of, number=F("request__revision"))
    revisions = {one.request_id: one for one in current}
    grants = {one.request_id: one for one in _newest(Grant.objects.filter(**of))}
    effects = {
        one.request: one
        for one in Effect.objects.filter(request__in=ids).order_by("created_at", "id")
    }
    reports = VerificationReport.objects.filter(**of)
    reported = {one.request_id: one for one in _newest(reports)}
    decisions = Decision.objects.filter(**of).select_related(
        "member", "on_behalf_of", "revision"
    )
    decided = _grouped(decisions.order_by("created_at", "id"))
    jobs = _grouped(ResumeJob.objects.filter(**of))
    contexts = _contexts(requests)
    return [
        Snapshot(
            request=request,
            revision=revisions[request.id],
            pause=pauses[request.pause_id],
            grant=grants.get(request.id),
            effect=effects.get(request.id),
            report=reported.get(request.id),
            decisions=tuple(decided[request.id]),
            jobs=tuple(jobs[request.id]),
            context=contexts.get(request.context_id),
            others_act=pauses[request.pause_id].acts,  # type: ignore[attr-defined]
        )
        for request in requests
    ]


def _pauses(requests: Sequence[Request]) -> dict[UUID, Pause]:
    """Their pauses; one `acts` when all is decided and something was approved."""
    of = Request.objects.filter(pause_id=OuterRef("id"))
    agreed = of.filter(state__in=(S.APPROVED, S.CONSUMED))
    acts = Exists(agreed) & ~Exists(of.filter(state__in=OPEN))
    rows: QuerySet[Pause] = Pause.objects.annotate(acts=acts)
    return rows.in_bulk({request.pause_id for request in requests})


def _contexts(requests: Sequence[Request]) -> dict[UUID | None, Context]:
    named = {request.context_id for request in requests} - {None}
    return dict(Context.objects.defer("manifest").in_bulk(named)) if named else {}


def _newest[M: TenantModel](rows: QuerySet[M]) -> QuerySet[M]:
    """Of each request, the newest row."""
    newest_first = rows.order_by("request_id", "-created_at", "-id")
    return newest_first.distinct("request_id")


def _grouped[M: TenantModel](rows: QuerySet[M]) -> dict[UUID, list[M]]:
    found: dict[UUID, list[M]] = defaultdict(list)
    for row in rows:
        found[row.request_id].append(row)  # type: ignore[attr-defined]
    return found


def next_step(now: Snapshot) -> str:
    """What the agent does: wait, revise, redeem, use_answer, stop or done."""
    state = now.request.state
    if state == S.CHANGES_REQUESTED:
        return "revise"
    if now.is_redeemable:
        return "redeem"
    if not now.is_resolved:
        return "wait"
    if state == S.ANSWERED:
        return "use_answer"
    return "done" if state == S.CONSUMED else "stop"


def as_json(now: Snapshot, *, names_deciders: bool = True) -> dict[str, Any]:
    """The document of `GET /api/v1/approvals/{id}`."""
    request, envelope = now.request, Envelope(bytes(now.revision.envelope))
    return {
        "id": str(request.id),
        "run": str(request.run_id),
        "session": str(request.session_id),
        "pause": str(request.pause_id),
        "queue": request.queue.slug,
        "tool": request.tool.name,
        "mode": request.tool.mode,
        "tool_call_id": request.tool_call_id,
        "status": request.state,
        "resolved": now.is_resolved,
        "next": next_step(now),
        "revision": request.revision,
        "digest": bytes(now.revision.digest).hex(),
        "arguments": envelope.action.arguments,
        "target": envelope.action.target,
        "title": request.title,
        "explanation": request.explanation,
        "risk": request.risk,
        "context": bytes(now.context.digest).hex() if now.context else None,
        "reason": request.resolution,
        "response": request.response,
        "effect": effect_json(now.effect),
        "verification": _verification(now.report),
        "decisions": [_decision(one, names_deciders) for one in now.decisions],
        "review_url": review_url(request.id),
        "decide_by": envelope.record["decide_by"],
        "use_until": _time(now.grant.expires_at if now.grant else None),
        "created_at": _time(request.created_at),
    }


def effect_json(effect: Effect | None) -> dict[str, Any] | None:
    """An effect as agents read it; its arguments are those that were approved."""
    if effect is None:
        return None
    return {
        "id": str(effect.id),
        "key": bytes(effect.key).hex(),
        "state": effect.state,
        "external_id": effect.external_id,
        "attempt": effect.attempt,
    }


def _verification(report: VerificationReport | None) -> dict[str, Any] | None:
    if report is None:
        return None
    return {
        "outcome": "passed" if report.passed else "refused",
        "code": report.code,
        "class": report.refusal,
        "reason": report.reason,
        "at": _time(report.created_at),
        "checks": {
            one["check"]: "passed" if one["passed"] else one["code"]
            for one in report.checks
        },
    }


def _decision(decision: Decision, names_deciders: bool) -> dict[str, Any]:
    by = "policy"
    if decision.member is not None:
        by = _named(decision.member, names_deciders)
    behalf = decision.on_behalf_of
    return {
        "verdict": decision.verdict,
        "revision": decision.revision.number,
        "by": by,
        "on_behalf_of": _named(behalf, names_deciders) if behalf else None,
        "at": _time(decision.created_at),
        "reason": decision.reason,
        "counted": decision.dismissed_at is None,
        "standing_approval": str(decision.standing_id)
        if decision.standing_id
        else None,
    }


def _named(member: Member, names_deciders: bool) -> str:
    return member.name if names_deciders else "a reviewer"


def review_url(request_id: UUID) -> str:
    """Where a person reviews it. The link finds the case and authorises nothing."""
    return f"{settings.BASE_URL}/r/{request_id}"


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
