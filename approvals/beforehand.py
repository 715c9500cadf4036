"""Whether a standing approval answers a question: asked when the question is, and once
more when its action begins. Reads only."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import F, QuerySet

from approvals.envelope import Envelope
from approvals.models import Decision, Request, StandingApproval
from approvals.policy import Obligation
from approvals.policy.beforehand import Constraint, covers, same
from audit.evidence import signed_entries
from checkpoints.definition import Terms
from checkpoints.models import Risk, Tool
from kernel.canonical import digest
from kernel.clock import ClockTimestamp

DOMAIN: Final = "keyturn/standing/v1"
MADE: Final = "standing.created"
USED: Final = "standing.used"
REVOKED: Final = "standing.revoked"
RISKS: Final = list(Risk.values)
STANDING_STATES: Final = ("live", "used_up", "expired", "revoked", "erased")
# Live ones of one agent and tool, at most, in all environments together. Each question
# of the two looks at every one, so that they are few; wider, as by agent alone, tools
# would take each other's places, and finer, as by author, many could still add up.
MOST_LIVE: Final = 20


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why it does not answer; the code's last part."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One wording that is asked, with its tool as it is now."""

    request: Request
    envelope: Envelope
    tool: Tool
    now: datetime


def terms_digest(one: StandingApproval) -> bytes:
    """Of everything that it covers and of whose it is: what its entry signs."""
    return digest(
        DOMAIN,
        {
            "tool": str(one.tool_id),
            "tool_digest": bytes(one.tool_digest).hex(),
            "agent": str(one.agent_id),
            "environment": one.environment,
            "risk": str(one.risk),
            "constraints": one.constraints,
            "target": one.target,
            "preconditions": one.preconditions,
            "author": str(one.author_id),
            "request": str(one.request_id),
            "revision": one.revision,
            "created_at": one.created_at.isoformat(timespec="microseconds"),
            "expires_at": one.expires_at.isoformat(timespec="microseconds"),
            "uses": one.uses,
        },
    )


def constraints_of(one: StandingApproval) -> list[Constraint]:
    """What each argument may be."""
    return [Constraint.from_json(said) for said in one.constraints]


def may_be_given(tool: Tool, risk: str) -> bool:
    """Whether anybody may agree beforehand to what this tool does at this risk."""
    irreversible = Terms.of(tool).irreversible or Risk.CRITICAL in {tool.risk, risk}
    return tool.reviewed and tool.enabled and not irreversible


def live() -> QuerySet[StandingApproval]:
    """Those that `state_of` calls live, by the database's clock as it looks at them."""
    return StandingApproval.objects.filter(
        revoked_at=None,
        expires_at__gt=ClockTimestamp(),
        used__lt=F("uses"),
        request__session__erased_at=None,
    )


def candidates(request: Request, environment: str) -> list[StandingApproval]:
    """What could answer it, the first to expire first. Not locked: `doubt` decides."""
    rows = live().filter(
        agent_id=request.agent_id, tool_id=request.tool_id, environment=environment
    )
    first = rows.select_related("request__session").order_by("expires_at", "id")
    return list(first[:MOST_LIVE])


def doubt(one: StandingApproval, asked: Question) -> Doubt | None:
    """Why it does not hold for the question, by its own terms; None: it does."""
    return _ended(one, asked.now) or outside(one, asked) or altered(one)


def outside(one: StandingApproval, asked: Question) -> Doubt | None:
    """What it does not cover: by tool, agent, environment, risk, and all of the action."""
    if not may_be_given(asked.tool, asked.request.risk):
        return Doubt("not_permitted", "Nobody agrees beforehand to what the tool does.")
    if bytes(asked.tool.digest) != bytes(one.tool_digest):
        return Doubt("tool_changed", "The tool was changed since it was made.")
    if _scope(one) != _asked_in(asked) or _riskier(asked.request.risk, one.risk):
        return Doubt("outside", "The action is outside of the standing approval.")
    action = asked.envelope.action
    fixed: list[tuple[Any, Any]] = [
        (one.target, action.target),
        (one.preconditions, list(action.preconditions)),
    ]
    inside = covers(constraints_of(one), action.arguments)
    if not inside or not all(same(left, right) for left, right in fixed):
        return Doubt("outside", "The action is outside of the standing approval.")
    return None


def not_permitted(one: StandingApproval, owed: Iterable[Obligation]) -> Doubt | None:
    """Every one of these obligations permits it, as it is."""
    seconds = (one.expires_at - one.created_at).total_seconds()
    bounded = [each.path for each in constraints_of(one) if not each.is_exact]
    for each in owed:
        bounds = each.beforehand
        if bounds is None or not bounds.permit(
            seconds=seconds, uses=one.uses, bounded=bounded
        ):
            return Doubt("not_permitted", "Policy does not permit it beforehand.")
    return None


def altered(one: StandingApproval) -> Doubt | None:
    """It is as it was signed when it was made, and as often used; nobody revoked it."""
    entries = signed_entries(
        one.tenant_id, kinds=(MADE, USED, REVOKED), subjects=[one.id]
    )
    kinds = [entry.kind for entry in entries]
    made = [entry for entry in entries if entry.kind == MADE]
    signed = [(entry.member, entry.data["digest"]) for entry in made]
    whole = signed == [(one.author_id, terms_digest(one).hex())]
    if whole and kinds.count(USED) == one.used and REVOKED not in kinds:
        return None
    return Doubt("not_in_audit", "A standing approval is not as the audit log has it.")


def state_of(one: StandingApproval, now: datetime) -> str:
    """One of `STANDING_STATES`; with its request's session at hand."""
    ended = _ended(one, now)
    return ended.code if ended else "live"


def standing_of(decisions: Iterable[Decision]) -> UUID | None:
    """The standing approval by which a question was answered, if one was."""
    named = (one.standing_id for one in decisions if one.standing_id)
    return next(named, None)


def _ended(one: StandingApproval, now: datetime) -> Doubt | None:
    if one.request.session.erased_at is not None:
        return Doubt("erased", "What the standing approval was made from was erased.")
    if one.revoked_at is not None:
        return Doubt("revoked", "The standing approval was revoked.")
    if now >= one.expires_at:
        return Doubt("expired", "The standing approval has expired.")
    if one.used >= one.uses:
        return Doubt("used_up", "The standing approval is used up.")
    return None


def _scope(one: StandingApproval) -> tuple[UUID, UUID, str]:
    return one.agent_id, one.tool_id, one.environment


def _asked_in(asked: Question) -> tuple[UUID, UUID, str]:
    environment = asked.envelope.record["requester"]["environment"]
    return asked.request.agent_id, asked.request.tool_id, environment


def _riskier(risk: str, most: str) -> bool:
    return RISKS.index(risk) > RISKS.index(most)
