"""Breaking the glass, as values: whether this person may, and what both steps show."""

from collections.abc import Mapping
from typing import Final

from approvals.glass import RIGHT, freshness, owed_now
from approvals.models import Decision
from approvals.pages.addresses import address, short_name
from approvals.pages.case.asked import keys_of
from approvals.pages.case.desk import ASKED_FOR, proof_of, sight_of
from approvals.pages.case.exact import exact_action
from approvals.pages.case.record import CaseRecord
from approvals.pages.selection import Selection
from approvals.presentation.glass import BreakView
from approvals.presentation.proof import Proof
from approvals.presentation.shell import Notice
from approvals.presentation.words import counted, span
from approvals.problems import GLASS_SEALED, NO_RIGHT, NOT_PENDING
from approvals.services.break_glass import judge_breaking
from kernel.problems import Problem

PLACE: Final = "break_glass"


def why_sealed(record: CaseRecord) -> Problem | None:
    """Why this person cannot, asked of the judge that will be asked then; None: can."""
    if RIGHT not in record.rights:
        return NO_RIGHT("You may not break the glass on this queue.")
    if not record.is_decidable or record.standing is None:
        return NOT_PENDING(f"This is {record.request.state}.")
    if not record.standing.obligation.break_glass:
        return GLASS_SEALED("Every policy that is about it would have to.")
    try:
        digest = bytes(record.revision.digest)
        judge_breaking(sight_of(record), digest=digest, reason="given")
    except Problem as problem:
        return None if problem.code in ASKED_FOR else problem
    return None


def glass_href(record: CaseRecord, selection: Selection) -> str:
    """For those who may; nothing for others."""
    if why_sealed(record) is not None:
        return ""
    return address(PLACE, record.slug, record.request.id, query=selection.query)


def break_view(
    record: CaseRecord,
    selection: Selection,
    *,
    confirming: bool,
    reason: str = "",
    errors: Mapping[str, str] | None = None,
) -> BreakView:
    request, query = record.request, selection.query
    return BreakView(
        href=address(PLACE, record.slug, request.id, query=query),
        case_href=address("case", record.slug, request.id, query=query),
        label=short_name("REQ", request.id),
        title=request.title,
        agent=request.agent.name,
        mode=request.tool.mode,
        now=record.now,
        exact=exact_action(record),
        missing=_missing(record),
        confirming=confirming,
        reason=reason,
        proof=_proof(record),
        errors=errors or {},
    )


def _missing(record: CaseRecord) -> str:
    keys = keys_of(record)
    return counted(keys.needed - keys.turned if keys else 1, "key")


def _proof(record: CaseRecord) -> Proof | None:
    owed = record.envelope.obligation, owed_now(record.request, record.envelope)
    ago = record.viewer.person.authenticated_ago
    if ago is not None and ago <= freshness(*owed):
        return None
    return proof_of(record)


def broken_notice(record: CaseRecord) -> Notice | None:
    """Said at the head of a case for good: one person stood for all."""
    broken = next((one for one in reversed(record.decisions) if one.broke_glass), None)
    if broken is None:
        return None
    name, ago = record.name(broken.member_id), span(record.now - broken.created_at)
    return Notice(
        title=f"{name} broke the glass {ago} ago",
        sentence=f"One person approved revision {broken.revision.number} without the "
        f"other keys. {_review(record, broken)}",
        href=address("post_review", record.slug, broken.id),
        link="What was said" if broken.review else "Look into it",
        tone="bad",
        icon="warn",
    )


def _review(record: CaseRecord, broken: Decision) -> str:
    if not broken.review:
        return "Nobody has looked into it yet."
    who = record.name(broken.reviewed_by_id)
    if broken.review == Decision.Review.OBJECTED:
        return f"{who} has looked into it, and objects."
    return f"{who} has looked into it, and acknowledges it."
