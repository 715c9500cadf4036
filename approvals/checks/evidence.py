"""Wording, decisions, grant and policies must equal their signed audit entries.

A row can be rewritten, or put back as it was, by whoever reaches the database; the
signature cannot, because its key is not there.
"""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Q

from approvals.checks.matter import Matter
from approvals.envelope import Envelope
from approvals.glass import BROKEN
from approvals.models import Decision, Grant, PolicyRevision, Revision
from approvals.separation import is_solo
from audit.evidence import Signed, latest_entries, signed_data, signed_entries
from kernel.canonical import definition_digest
from kernel.outcome import Refused

DECIDED: Final = "decision.recorded"
TAKEN_BACK: Final = "decision.taken_back"
WORDED: Final = ("request.asked", "request.revised")
ISSUED: Final = "grant.issued"
ENDED: Final = tuple(
    f"grant.{state}" for state in Grant.State.values if state != Grant.State.LIVE
)
PUBLISHED: Final = "policy.published"
COSIGNED: Final = "policy.cosigned"
RETIRED: Final = "policy.retired"
FOUNDED: Final = "tenant.created"
NOT_SOLO: Final = "tenant.solo_ended"
OTHER: Final = "not as the audit log has it."


def check_evidence(matter: Matter) -> Refused | None:
    """Compare all that authority rests on with what was signed when it came about."""
    altered = check_wording(matter.revision)
    if altered is not None:
        return altered
    if not _decisions_hold(matter):
        return _refuse("decision_not_in_audit", f"A decision is {OTHER}")
    if not _grant_holds(matter):
        return _refuse("grant_not_in_audit", f"The approval is {OTHER}")
    if not _policies_hold(matter):
        return _refuse("policy_not_in_audit", f"A policy is {OTHER}")
    if not _all_in_force(matter.tenant.id):
        return _refuse("policies_not_in_audit", f"What is in force is {OTHER}")
    if is_solo(matter.tenant.id) and not _was_founded_solo(matter.tenant.id):
        return _refuse("solo_not_in_audit", f"The tenant is one person's, {OTHER}")
    return None


def check_wording(revision: Revision) -> Refused | None:
    """The log has the digest of these very bytes, once, under the revision's number."""
    entries = signed_entries(
        revision.tenant_id, kinds=WORDED, subjects=[revision.request_id]
    )
    numbered = [one for one in entries if one.data["revision"] == revision.number]
    computed = Envelope(bytes(revision.envelope)).digest.hex()
    if [one.data["digest"] for one in numbered] != [computed]:
        return _refuse("revision_not_in_audit", f"The action is {OTHER}")
    return None


def _decisions_hold(matter: Matter) -> bool:
    """Each was given once as it stands, and nobody has taken it back since."""
    ids = [one.id for one in matter.decisions]
    entries = signed_entries(
        matter.tenant.id, kinds=(DECIDED, TAKEN_BACK), subjects=ids
    )
    return all(
        _agrees(decision, matter, [e for e in entries if e.subject == decision.id])
        for decision in matter.decisions
    )


def _agrees(decision: Decision, matter: Matter, entries: list[Signed]) -> bool:
    if [one.kind for one in entries] != [DECIDED]:
        return False
    data = entries[0].data
    expected = {
        "request": str(decision.request_id),
        "revision": matter.revision.number,
        "digest": bytes(decision.digest).hex(),
        "member": _text(decision.member_id),
        "on_behalf_of": _text(decision.on_behalf_of_id),
        "delegation": _text(decision.delegation_id),
        "verdict": decision.verdict,
        "broke_glass": decision.broke_glass,
        "standing": str(decision.standing_id) if decision.standing_id else None,
    }
    said = {"broke_glass": False, **data}  # older entries do not name it
    return all(said.get(name) == value for name, value in expected.items())


def signed_ages(matter: Matter) -> dict[UUID, int | None]:
    """How old (seconds) the sign-in behind each decision was as it was signed."""
    ids = [one.id for one in matter.decisions]
    signed = signed_data(matter.tenant.id, kind=DECIDED, subjects=ids)
    return {id: said.get("authenticated_ago") for id, said in signed.items()}


def signed_breaking(matter: Matter, decision: Decision) -> dict[str, Any] | None:
    """What was signed as this decision broke the glass; None unless exactly once."""
    entries = signed_entries(
        matter.tenant.id, kinds=(BROKEN,), subjects=[matter.request.id]
    )
    expected = {
        "decision": str(decision.id),
        "member": str(decision.member_id),
        "revision": matter.revision.number,
        "digest": bytes(decision.digest).hex(),
    }
    said = [one.data for one in entries if expected.items() <= one.data.items()]
    return said[0] if len(said) == 1 else None


def _text(id: UUID | None) -> str | None:
    return str(id) if id else None


def _grant_holds(matter: Matter) -> bool:
    """It was issued as it stands, and nothing has ended it since."""
    assert matter.grant is not None
    entries = signed_entries(
        matter.tenant.id, kinds=(ISSUED, *ENDED), subjects=[matter.grant.id]
    )
    return [one.kind for one in entries] == [ISSUED] and _is_as_issued(
        matter, matter.grant, entries[0]
    )


def _is_as_issued(matter: Matter, grant: Grant, issued: Signed) -> bool:
    """For the same wording, no longer than it was given, after the whole wait."""
    expected = {
        "request": str(matter.request.id),
        "revision": matter.revision.number,
        "digest": bytes(grant.digest).hex(),
    }
    use_within = timedelta(seconds=matter.envelope.obligation.use_within)
    return (
        all(issued.data.get(name) == value for name, value in expected.items())
        and grant.expires_at <= datetime.fromisoformat(issued.data["expires_at"])
        and grant.not_before + use_within == grant.expires_at
    )


def _policies_hold(matter: Matter) -> bool:
    """What the question was judged by had been published, and says so still.

    By whom matters as well: it is who must not count, and who stood for it.
    """
    pinned = matter.envelope.obligation.policies
    entries = signed_entries(
        matter.tenant.id,
        kinds=(PUBLISHED, COSIGNED),
        subjects=[one for one, _, _ in pinned],
        among=Q(data__revision__in=[number for _, number, _ in pinned]),
    )
    rows = _stored_policies(matter)
    return {_identity(row) for row in rows} >= set(pinned) and all(
        _is_as_signed(row, entries) for row in rows
    )


def _all_in_force(tenant_id: UUID) -> bool:
    """The policies that say something today are those that the log says are in force.

    One that was hidden, or made to be about nothing, asks for nothing: neither now nor,
    where that was before the question, by what is pinned.
    """
    said = latest_entries(tenant_id, kinds=(PUBLISHED, RETIRED))
    if None in said:
        return False
    signed = {
        (one.subject, one.data["revision"], one.data["digest"])
        for one in said
        if one and one.kind == PUBLISHED
    }
    rows = PolicyRevision.objects.filter(number=F("policy__current"))
    return {_identity(row) for row in rows} == signed


def _was_founded_solo(tenant_id: UUID) -> bool:
    """For one person, and no second one has come: else nothing is waived for anybody."""
    entries = signed_entries(tenant_id, kinds=(FOUNDED, NOT_SOLO), subjects=[tenant_id])
    return [(one.kind, one.data.get("solo")) for one in entries] == [(FOUNDED, True)]


def _stored_policies(matter: Matter) -> list[PolicyRevision]:
    pairs = Q(pk__in=[])
    for policy, number, _ in matter.envelope.obligation.policies:
        pairs |= Q(policy_id=policy, number=number)
    return list(PolicyRevision.objects.filter(pairs))


def _identity(row: PolicyRevision) -> tuple[UUID, int, str]:
    """Policy, number and digest, computed from what the row says now."""
    return row.policy_id, row.number, definition_digest(row.definition).hex()


def _is_as_signed(row: PolicyRevision, entries: list[Signed]) -> bool:
    policy, number, digest = _identity(row)
    of_row = [
        one
        for one in entries
        if one.subject == policy and one.data["revision"] == number
    ]
    published = [
        _author(one)
        for one in of_row
        if one.kind == PUBLISHED and one.data["digest"] == digest
    ]
    cosigned = [one.member for one in of_row if one.kind == COSIGNED]
    return row.author_id in published and (
        row.cosigned_by_id is None or row.cosigned_by_id in cosigned
    )


def _author(published: Signed) -> UUID | None:
    """Who wrote it; where the entry does not say, whoever published it did."""
    if "author" not in published.data:
        return published.member
    said = published.data["author"]
    return UUID(said) if said else None


def _refuse(code: str, reason: str) -> Refused:
    return Refused(f"authority.{code}", reason, "stop")
