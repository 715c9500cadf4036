"""Ways around asking people at a time: what was agreed beforehand, and a broken glass.

Both are looked at as the verbs look at them, on what the log has of that time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from approvals.beforehand import (
    USED,
    Doubt,
    Question,
    not_permitted,
    outside,
    terms_digest,
)
from approvals.checks.evidence import DECIDED, TAKEN_BACK
from approvals.glass import RIGHT, freshness, permits
from approvals.models import Decision, StandingApproval
from approvals.policy import Obligation
from approvals.policy.satisfy import missing
from audit.evidence import signed_entries
from checkpoints.models import Tool
from oversight.pages.rights.case import Case, Owed
from oversight.pages.rights.then import Agreed

ERASED: Final = "session.erased"
APPROVE: Final = Decision.Verdict.APPROVE


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingThen:
    """A standing approval that held then; `doubt` is why it would not have answered."""

    id: UUID
    author: UUID | None  # None: not stored as it was signed
    used: int
    uses: int
    expires_at: datetime
    doubt: Doubt | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GlassThen:
    """Who could have broken it, with a sign-in of so many seconds; or why nobody."""

    people: frozenset[UUID]
    seconds: int
    why_not: str


# -- What was agreed beforehand -----------------------------------------------------------


def standings_then(case: Case, current: Obligation) -> tuple[StandingThen, ...]:
    """Those of its agent, tool and environment that held then, first to expire first.

    As if it had been asked for the first time at that time: they answer nothing else.
    """
    held = {id: one for id, one in case.then.agreed.items() if _is_of(one, case)}
    used = _uses(case, held)
    stored = StandingApproval.objects.select_related("request").in_bulk(list(held))
    erased = _erased(case, stored.values())
    live = [
        (id, one)
        for id, one in held.items()
        if used[id] < one.uses and not _is_over(stored.get(id), erased, case)
    ]
    ordered = sorted(live, key=lambda each: (each[1].expires_at, each[0]))
    return tuple(
        _standing(case, current, id, one, used[id], stored.get(id), erased)
        for id, one in ordered
    )


def _is_of(one: Agreed, case: Case) -> bool:
    asked = case.envelope.record
    whose = (case.request.agent_id, asked["tool"]["name"])
    same = (one.agent, one.tool) == whose
    here = one.environment == asked["requester"]["environment"]
    return same and here and not one.revoked and case.then.at < one.expires_at


def _uses(case: Case, held: Iterable[UUID]) -> Mapping[UUID, int]:
    """How often each had been used by then."""
    said = signed_entries(case.request.tenant_id, kinds=[USED], subjects=held)
    before = [one.subject for one in said if one.at <= case.then.at]
    return {id: before.count(id) for id in held}


def _erased(case: Case, stored: Iterable[StandingApproval]) -> Mapping[UUID, datetime]:
    """When the session that each was made from was erased, by session."""
    sessions = {one.request.session_id for one in stored}
    said = signed_entries(case.request.tenant_id, kinds=[ERASED], subjects=sessions)
    return {one.subject: one.at for one in said}


def _is_over(
    row: StandingApproval | None, erased: Mapping[UUID, datetime], case: Case
) -> bool:
    gone = erased.get(row.request.session_id) if row else None
    return gone is not None and gone <= case.then.at


def _standing(
    case: Case,
    current: Obligation,
    id: UUID,
    said: Agreed,
    used: int,
    row: StandingApproval | None,
    erased: Mapping[UUID, datetime],
) -> StandingThen:
    whole = row if row and terms_digest(row).hex() == said.digest else None
    return StandingThen(
        id=id,
        author=whole.author_id if whole else None,
        used=used,
        uses=said.uses,
        expires_at=said.expires_at,
        doubt=_doubt(case, current, whole) if whole else _unknown(row, erased),
    )


def _unknown(row: StandingApproval | None, erased: Mapping[UUID, datetime]) -> Doubt:
    if row is not None and row.request.session_id in erased:
        return Doubt("erased", "What it covered has been erased since.")
    return Doubt("not_in_audit", "It is not stored as the audit log has it.")


def _doubt(case: Case, current: Obligation, row: StandingApproval) -> Doubt | None:
    if APPROVE not in case.request.allowed:
        return Doubt("not_permitted", "Approving is not offered for it.")
    asked = Question(
        request=case.request,
        envelope=case.envelope,
        tool=_tool(case),
        now=case.then.at,
    )
    found = outside(row, asked) or not_permitted(row, [current])
    return found or _alone(case, current, row.author_id)


def _tool(case: Case) -> Tool:
    """As the log has it then. What is irreversible is in the digest, and no tool of
    which anybody agreed beforehand."""
    said, request = case.then.tools.get(case.request.tool_id), case.request
    if said is None:
        return Tool(id=request.tool_id, reviewed=False)
    return Tool(
        id=request.tool_id,
        mode=said.mode,
        risk=said.risk,
        digest=bytes.fromhex(said.digest),
        reviewed=said.reviewed,
        enabled=said.enabled,
    )


def _alone(case: Case, owed: Obligation, author: UUID) -> Doubt | None:
    """Whether its author's key was all that was asked for, and counted."""
    side = frozenset() if case.then.solo else case.side_anew(owed)
    queue = case.queue_anew(owed)
    able = {rule: case.eligible(rule, queue) - side for rule in owed.rules}
    if missing(owed.rules, [author], able):
        return Doubt("author", "Whoever made it did not count for it.")
    return None


# -- A broken glass -----------------------------------------------------------------------


def glass_then(case: Case, pinned: Owed, current: Owed) -> GlassThen:
    """Who could have broken it for the wording as it stood."""
    owed = (pinned.obligation, current.obligation)
    holders = case.then.holders(case.queue, RIGHT) & case.then.seeing(case.queue)
    strict = [replace(one, editor_counts=False) for one in owed]
    side = frozenset().union(*map(case.side, strict))
    able = holders - side - _answered_otherwise(case)
    why_not = _sealed(case, owed) or _nobody(holders, able)
    return GlassThen(
        people=frozenset() if why_not else able,
        seconds=freshness(*owed),
        why_not=why_not,
    )


def _sealed(case: Case, owed: Sequence[Obligation]) -> str:
    if APPROVE not in case.request.allowed:
        return "Approving is not offered for it."
    if not all(map(permits, owed)):
        return "Policy did not permit it."
    if case.then.solo:
        return "There was nobody who could have looked into it afterwards."
    return ""


def _nobody(holders: frozenset[UUID], able: frozenset[UUID]) -> str:
    if not holders:
        return "Nobody held the right on its queue."
    if not able:
        return "Whoever held the right was on the side that asks, or had answered."
    return ""


def _answered_otherwise(case: Case) -> frozenset[UUID]:
    """Whose answer to this wording stood, or was given for them, and was no approval."""
    given = Decision.objects.filter(revision_id=case.revision.id)
    said = signed_entries(
        case.request.tenant_id,
        kinds=[DECIDED, TAKEN_BACK],
        subjects=given.values_list("id", flat=True),
    )
    before = [one for one in said if one.at <= case.then.at]
    gone = {one.subject for one in before if one.kind == TAKEN_BACK}
    stood = [one.data for one in before if one.subject not in gone]
    others = [one for one in stood if one["verdict"] != APPROVE]
    named = ("member", "on_behalf_of")
    people = {one.get(name) for one in others for name in named}
    return frozenset(UUID(id) for id in people if id)
