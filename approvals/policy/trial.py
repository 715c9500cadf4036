"""What another set of policies would have owed: the simulator. Pure, and bounded.

Each selector is asked once for an action, whichever sets it is in, and what the same
policies owe together is combined once.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from approvals.policy.evaluate import (
    ActionSubject,
    Statement,
    combine,
    said_of,
    serves_itself,
)
from approvals.policy.obligation import Obligation, Rule
from approvals.policy.selector import Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One action that was asked for. `side` are the people who answer for its agent."""

    id: UUID
    action: ActionSubject
    side: frozenset[UUID] = frozenset()


@dataclass(frozen=True, slots=True)
class Changed:
    """What one request would have owed, before and after."""

    id: UUID
    before: Obligation
    after: Obligation


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """`examined` requests, `matched` by a policy that is only in the second set."""

    examined: int
    matched: int
    changed: tuple[Changed, ...]
    complete: bool


def compare(
    before: Sequence[Statement],
    after: Sequence[Statement],
    asked: Iterable[Asked],
    *,
    is_late: Callable[[], bool] = lambda: False,
) -> Trial:
    """Which of these requests the second set of policies would have judged otherwise.

    Ends early, and says so, once `is_late`.
    """
    sets = _Sets(list(before), list(after))
    examined = matched = 0
    changed: list[Changed] = []
    for one in asked:
        if is_late():
            return Trial(
                examined=examined,
                matched=matched,
                changed=tuple(changed),
                complete=False,
            )
        first, second, hit = sets.judge(one)
        examined, matched = examined + 1, matched + hit
        if first != second:
            changed.append(Changed(one.id, first, second))
    return Trial(
        examined=examined, matched=matched, changed=tuple(changed), complete=True
    )


type _Hits = tuple[tuple[int, bool], ...]
"""Which of all policies match, and whether without a doubt."""


@dataclass
class _Sets:
    before: list[Statement]
    after: list[Statement]
    _owed: dict[tuple[_Hits, str], Obligation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {id(one): one for one in (*self.before, *self.after)}
        self._all = list(known.values())
        place = {id(one): at for at, one in enumerate(self._all)}
        self._first = [place[id(one)] for one in self.before]
        self._second = [place[id(one)] for one in self.after]
        self._new = frozenset(self._second) - frozenset(self._first)

    def judge(self, asked: Asked) -> tuple[Obligation, Obligation, bool]:
        sight = Sight(asked.action.variables())
        found = {
            at: said
            for at, one in enumerate(self._all)
            if not serves_itself(one, asked.side) and (said := said_of(one, sight))
        }
        risk = asked.action.risk
        return (
            self._combined(found, self._first, risk),
            self._combined(found, self._second, risk),
            bool(found.keys() & self._new),
        )

    def _combined(
        self, found: Mapping[int, Statement], places: Sequence[int], risk: str
    ) -> Obligation:
        """Without the names of the policies: the same duty under another is no change."""
        hits = [at for at in places if at in found]
        key = tuple((at, found[at] is self._all[at]) for at in hits), risk
        owed = self._owed.get(key)
        if owed is None:
            owed = combine([found[at] for at in hits], risk)
            rules = tuple(sorted(owed.rules, key=_in_order))
            owed = self._owed[key] = replace(owed, policies=(), rules=rules)
        return owed


def _in_order(rule: Rule) -> str:
    return json.dumps(rule.as_json())
