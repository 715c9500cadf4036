"""Why it was asked: the policies that matched, the keys they want, who cannot turn one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from django.db.models import FETCH_RAISE, Q
from django.urls import reverse

from approvals.delegations import decider
from approvals.models import Decision, PolicyRevision, Request
from approvals.pages.case.record import CaseRecord
from approvals.pages.viewer import Viewer
from approvals.policy import Obligation, Rule
from approvals.policy.satisfy import seats
from approvals.presentation.case import Keys, Need, PolicyReason
from approvals.presentation.words import counted
from approvals.separation import Key, Standing, keys_for
from tenants.models import Group

NO_POLICY: Final = PolicyReason(
    name="No policy matched",
    revision=0,
    sentence="one person’s key is needed.",
)


def policy_reasons(record: CaseRecord) -> tuple[PolicyReason, ...]:
    """The pinned policies in their own words, as they were when it was asked."""
    obligation = record.obligation
    if obligation is None:
        return ()
    if not obligation.policies:
        return (NO_POLICY,)
    return tuple(_reason(row, record) for row in _pinned(obligation))


def _pinned(obligation: Obligation) -> list[PolicyRevision]:
    pairs = Q()
    for policy, number, _ in obligation.policies:
        pairs |= Q(policy_id=policy, number=number)
    rows = PolicyRevision.objects.filter(pairs).select_related("policy")
    return list(rows.order_by("policy__name").fetch_mode(FETCH_RAISE))


def _reason(row: PolicyRevision, record: CaseRecord) -> PolicyReason:
    said = row.definition.get("summary")
    assert record.obligation is not None
    return PolicyReason(
        name=row.policy.name,
        revision=row.number,
        sentence=said
        if isinstance(said, str) and said
        else _sentence(record.obligation),
        href=_href(row, record.viewer) if record.viewer.membership.oversees else "",
    )


def _href(row: PolicyRevision, viewer: Viewer) -> str:
    """The very revision that was pinned, for those who may read policies."""
    named = {"slug": viewer.slug, "name": row.policy.name}
    return f"{reverse('policy', kwargs=named)}?revision={row.number}"


def _sentence(obligation: Obligation) -> str:
    return f"this needs {counted(obligation.approvals_needed, 'key')}."


def keys_of(record: CaseRecord) -> Keys | None:
    """How many keys have turned; while it is open, of those that count now."""
    stands = record.standing
    if stands is None or not stands.obligation.rules:
        return None
    seated = _seated(record, stands)
    turned = sum(person is not None for _, person in seated)
    return Keys(turned=turned, needed=len(seated))


def approvers(record: CaseRecord) -> tuple[Key, ...]:
    return keys_for(record.counted, Decision.Verdict.APPROVE)


def _seated(record: CaseRecord, stands: Standing) -> list[tuple[Rule, UUID | None]]:
    """Each slot and who fills it. Once decided, whoever agreed did count then."""
    keys = approvers(record)
    if record.is_open:
        return stands.seats(keys)
    agreed = [key.person for key in keys]
    able = {rule: people | set(agreed) for rule, people in stands.eligible.items()}
    return seats(stands.obligation.rules, agreed, able)


def needs(record: CaseRecord) -> tuple[Need, ...]:
    """One for each slot, in a best matching of those who agreed."""
    stands = record.standing
    if stands is None:
        return ()
    said = {one.member_id: one for one in record.counted}
    groups = group_names(stands.obligation)
    found = [
        _turned(record, label_of(rule, groups, record), said[person], stands)
        if person
        else _waiting(record, label_of(rule, groups, record), stands.eligible[rule])
        for rule, person in _seated(record, stands)
    ]
    if not record.is_open:  # nobody is waited for any more
        return tuple(need for need in found if need.turned_by)
    return tuple(_with_excluded(found, _excluded_note(record, stands)))


def _turned(
    record: CaseRecord, label: str, decision: Decision, stands: Standing
) -> Need:
    """Who agreed and has lost the right to is shown so, until it has been used."""
    people = filter(None, (decision.member_id, decision.on_behalf_of_id))
    counts, broke = stands.counts(*people), decision.broke_glass
    lost = record.request.state == Request.State.APPROVED and not (counts or broke)
    waived = "as the tenant’s only person" if decision.waived_solo else ""
    waived = "by breaking the glass, for all keys" if broke else waived
    beforehand = "beforehand, by a standing approval" if decision.standing_id else ""
    return Need(
        label=label,
        turned_by=decider(decision),
        turned_at=decision.created_at,
        note="may no longer decide this: it will be refused"
        if lost
        else beforehand or waived,
        said=decision.reason,
        lost=lost,
    )


def _waiting(record: CaseRecord, label: str, eligible: frozenset[UUID]) -> Need:
    mine = record.viewer.id in eligible and not record.mine
    yours = mine and record.is_decidable and "decide" in record.rights
    return Need(label=label, yours=yours, note=_others(record, eligible, yours))


def _with_excluded(found: list[Need], note: str) -> list[Need]:
    """The note stands once, beside the first key that waits."""
    at = next((at for at, need in enumerate(found) if not need.turned_by), None)
    if note and at is not None:
        found[at] = replace(found[at], note=f"{found[at].note} {note}".strip())
    return found


def label_of(rule: Rule, groups: Mapping[UUID, str], record: CaseRecord) -> str:
    """Whose key: a group, named people, or whoever decides on the queue."""
    names = sorted(groups.get(group, "a group") for group in rule.eligible.groups)
    people = sorted(record.name(member) for member in rule.eligible.members)
    return " or ".join(names or people) or f"Whoever decides on {record.request.queue}"


def _others(record: CaseRecord, eligible: frozenset[UUID], yours: bool) -> str:
    """Who else could turn this key."""
    answered = {one for key in approvers(record) for one in key.people}
    able = sorted(_who(record, one) for one in eligible - {record.viewer.id} - answered)
    if not able:
        return "" if yours else "Nobody can turn this key now."
    names = able[:3] + ([f"{len(able) - 3} more"] if len(able) > 3 else [])
    return (
        f"{'or ' if yours else ''}{_listed(names)}{'.' if yours else ' can turn it.'}"
    )


def _who(record: CaseRecord, member: UUID) -> str:
    """By name; of whoever is on leave also who stands in for them."""
    leaves = [one for one in record.leaves if one.delegator_id == member]
    if not leaves:
        return record.name(member)
    instead = " or ".join(sorted({record.name(one.delegate_id) for one in leaves}))
    return f"{record.name(member)} (on leave; {instead} stands in)"


def _listed(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} or {names[-1]}"


def group_names(obligation: Obligation) -> dict[UUID, str]:
    ids = {group for rule in obligation.rules for group in rule.eligible.groups}
    rows = Group.objects.filter(id__in=ids)
    return dict(rows.values_list("id", "name"))


def _excluded_note(record: CaseRecord, stands: Standing) -> str:
    """Those who could turn a key here if they were not on the asking side."""
    able = record.deciders
    reasons = record.asking_side
    notes = [
        f"{record.name(one)} {reasons[one]} and cannot turn a key."
        for one in sorted(stands.excluded & able, key=record.name)
        if one in reasons
    ]
    return " ".join(notes)
