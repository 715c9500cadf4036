"""Whether distinct people fill every slot of every rule: a bipartite matching."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from approvals.policy.obligation import Rule

type Eligibility = Mapping[Rule, frozenset[UUID]]
"""For each rule, the people who may count for it now."""


def satisfied(
    rules: Sequence[Rule], people: Sequence[UUID], eligible: Eligibility
) -> bool:
    """Whether `people` (each counted once) fill all slots of all `rules`."""
    return missing(rules, people, eligible) == 0


def missing(
    rules: Sequence[Rule], people: Sequence[UUID], eligible: Eligibility
) -> int:
    """How many keys are still to be turned; 0 when the rules are satisfied."""
    seated = seats(rules, people, eligible)
    return sum(person is None for _, person in seated)


def seats(
    rules: Sequence[Rule], people: Sequence[UUID], eligible: Eligibility
) -> list[tuple[Rule, UUID | None]]:
    """Every slot of every rule, and who of `people` fills it in one best matching."""
    slots = [rule for rule in rules for _ in range(rule.approvals)]
    taken: dict[int, UUID] = {}
    for person in dict.fromkeys(people):
        _seat(person, slots, eligible, taken, set())
    return [(rule, taken.get(index)) for index, rule in enumerate(slots)]


def _seat(
    person: UUID,
    slots: Sequence[Rule],
    eligible: Eligibility,
    taken: dict[int, UUID],
    tried: set[int],
) -> bool:
    """Give the person a slot, moving others along where they have another."""
    for index, rule in enumerate(slots):
        if index in tried or person not in eligible[rule]:
            continue
        tried.add(index)
        holder = taken.get(index)
        if holder is None or _seat(holder, slots, eligible, taken, tried):
            taken[index] = person
            return True
    return False
