"""Separation of duties: the requester's side never counts for its own request."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from approvals.access import eligibility, owners_since
from approvals.envelope import Envelope
from approvals.models import Decision, PolicyRevision, Request, Revision
from approvals.policy import Obligation, satisfied
from approvals.policy.satisfy import Eligibility, missing
from tenants.models import Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Who may count for one obligation of one revision, as of now."""

    obligation: Obligation
    eligible: Eligibility
    excluded: frozenset[UUID]
    waived: frozenset[UUID]  # would be excluded, but the tenant has one person

    def satisfied_by(self, people: Iterable[UUID]) -> bool:
        return satisfied(self.obligation.rules, list(people), self.eligible)

    def missing_with(self, people: Iterable[UUID]) -> int:
        """How many keys are still to turn once these people's have."""
        return missing(self.obligation.rules, list(people), self.eligible)

    def counts(self, member_id: UUID) -> bool:
        return any(member_id in people for people in self.eligible.values())

    def may_deny(self, member_id: UUID) -> bool:
        """Anyone a rule would count, and also the requester's own side."""
        return self.counts(member_id) or member_id in self.excluded


def standing(
    request: Request, revision: Revision, envelope: Envelope, obligation: Obligation
) -> Standing:
    """Who counts for this obligation now, from live rows."""
    side = requesters_side(request, revision, envelope, obligation)
    waived = side if is_solo(request.tenant_id) else frozenset()
    excluded = side - waived
    return Standing(
        obligation=obligation,
        eligible=eligibility(
            obligation.rules,
            tenant_id=request.tenant_id,
            queue_id=request.queue_id,
            excluded=excluded,
        ),
        excluded=excluded,
        waived=waived,
    )


def requesters_side(
    request: Request, revision: Revision, envelope: Envelope, obligation: Obligation
) -> frozenset[UUID]:
    """Member ids that must not count: owners, the key's creator, editor, authors."""
    asked = envelope.requester
    people = {UUID(owner) for owner in asked["owners"]}
    people |= owners_since(request.agent_id, request.created_at)
    if asked["key_creator"]:
        people.add(UUID(asked["key_creator"]))
    if revision.author_type == "member" and not obligation.editor_counts:
        assert revision.author_id is not None
        people.add(revision.author_id)
    return frozenset(people | policy_authors(obligation))


def policy_authors(obligation: Obligation) -> set[UUID]:
    """Authors of the matching policy revisions that nobody else has cosigned."""
    pairs = Q()
    for policy, number, _ in obligation.policies:
        pairs |= Q(policy_id=policy, number=number)
    if not pairs:
        return set()
    rows = PolicyRevision.objects.filter(pairs, cosigned_by=None)
    return set(rows.exclude(author=None).values_list("author_id", flat=True))


def is_solo(tenant_id: UUID) -> bool:
    """Whether the tenant's one person may be both owner and reviewer."""
    return Tenant.objects.filter(id=tenant_id, solo=True).exists()


def people_for(
    decisions: Iterable[Decision], verdict: Decision.Verdict
) -> tuple[UUID, ...]:
    """Who gave this verdict; a policy's own decision has no person."""
    return tuple(
        one.member_id for one in decisions if one.verdict == verdict and one.member_id
    )
