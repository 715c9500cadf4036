"""Separation of duties: the requester's side never counts for its own request."""

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from approvals.access import eligibility, owners_since
from approvals.delegations import held
from approvals.envelope import Envelope
from approvals.models import Decision, PolicyRevision, Request, Revision
from approvals.policy import Obligation, Rule
from approvals.policy.satisfy import Eligibility, seats
from tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class Key:
    """One answer: whose it is, and for whom they gave it."""

    person: UUID
    behalf: UUID | None = None

    @property
    def people(self) -> frozenset[UUID]:
        return frozenset(filter(None, (self.person, self.behalf)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Who may count for one obligation of one revision, as of now."""

    obligation: Obligation
    eligible: Eligibility
    excluded: frozenset[UUID]
    waived: frozenset[UUID]  # would be excluded, but the tenant has one person

    def satisfied_by(self, keys: Sequence[Key]) -> bool:
        return all(person for _, person in self.seats(keys))

    def missing_with(self, keys: Sequence[Key]) -> int:
        """How many keys are still to turn once these have."""
        return sum(person is None for _, person in self.seats(keys))

    def seats(self, keys: Sequence[Key]) -> list[tuple[Rule, UUID | None]]:
        """Every slot, and who fills it, in one best matching."""
        people = [key.person for key in keys]
        return seats(self.obligation.rules, people, self.able(keys))

    def able(self, keys: Sequence[Key]) -> Eligibility:
        """A key turned for somebody else fills only what both of them might."""
        return {
            rule: people - {key.person for key in keys if not key.people <= people}
            for rule, people in self.eligible.items()
        }

    def counts(self, *member_ids: UUID) -> bool:
        """Whether one rule would count them: each of them, where there are several."""
        return any(people.issuperset(member_ids) for people in self.eligible.values())


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


def keys_for(
    decisions: Collection[Decision], verdict: Decision.Verdict
) -> tuple[Key, ...]:
    """Who gave this verdict; a policy's own decision has no person."""
    return distinct(decisions, held(decisions), verdict)


def distinct(
    decisions: Iterable[Decision], valid: Container[UUID], verdict: Decision.Verdict
) -> tuple[Key, ...]:
    """Of the `valid` ones. Nobody has two answers, not through anybody else either.

    Of two that have a person in common the first counts, whatever their verdicts.
    """
    seen, keys = set[UUID](), list[Key]()
    for one in decisions:
        if one.member_id is None or one.id not in valid:
            continue
        key = Key(one.member_id, one.on_behalf_of_id)
        if seen.isdisjoint(key.people) and one.verdict == verdict:
            keys.append(key)
        seen |= key.people
    return tuple(keys)


def people_for(
    decisions: Collection[Decision], verdict: Decision.Verdict
) -> tuple[UUID, ...]:
    """Whose key counts for this verdict."""
    return tuple(key.person for key in keys_for(decisions, verdict))
