"""What a history must go on saying, however it is shortened.

The call of a request that waits, with the same arguments, and what a fact on which
authority rests refers to, in the same words. Both are told from typed state as well;
but people who decide, and those who ask later, find what was said where it was said.
"""

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from approvals.context.groups import observed
from approvals.context.records import entry_of
from approvals.models import Request
from approvals.states import LIVE
from sessions.contract import Contract
from sessions.hooks import Lost
from sessions.models import Fact, Item, Run, Session
from sessions.queries import TRUNK, inherited
from sessions.vault import open_items

POSITION: Final = re.compile(r"item:([1-9][0-9]{0,17})")
"""How the reference of a fact names an item of its run's branch."""


def critical_items(session: Session, run: Run | None) -> Lost | None:
    """How to find out what a change of a line would lose; None when nothing can be."""
    asked = Request.objects.filter(session_id=session.id, state__in=LIVE)
    calls = asked.exclude(tool_call_id=None).values_list("tool_call_id", flat=True)
    critical = _Critical(calls=frozenset(filter(None, calls)), facts=_referring(run))
    return critical.lost if critical.calls or critical.facts else None


@dataclass(frozen=True, kw_only=True)
class _Critical:
    """Ids of calls that wait, and (fact, digest of the item that it refers to)."""

    calls: Collection[str]
    facts: Collection[tuple[str, str]]

    def lost(self, before: Sequence[Item], after: Sequence[Item]) -> list[str]:
        """Names of what is said in `before` and not in `after`."""
        was, kept = self._said_in(before), self._said_in(after)
        needed = {*self._calls_in(before), *self.facts}
        return sorted({name for name, said in needed if said in was - kept})

    def _said_in(self, items: Sequence[Item]) -> set[str]:
        return {said for _, said in self._calls_in(items)} | set(map(_digest, items))

    def _calls_in(self, items: Sequence[Item]) -> list[tuple[str, str]]:
        if not self.calls:
            return []
        return [
            (f"call:{part.call}", f"{part.call} {observed(part)}")
            for item in items
            for part in entry_of(item).parts
            if part.kind == "call" and part.call in self.calls
        ]


def _referring(run: Run | None) -> list[tuple[str, str]]:
    """The run's facts on which authority rests, and what they refer to.

    Also what was said at another position before, and is on record there.
    """
    if run is None:
        return []
    bearing = Contract.of(run.workflow).authority
    facts = Fact.objects.filter(run_id=run.id, name__in=bearing).exclude(reference="")
    return [
        (f"fact:{name}", _digest(item))
        for name, reference in facts.values_list("name", "reference")
        for item in _referred(run, reference)
    ]


def _referred(run: Run, reference: str) -> list[Item]:
    """What "item:12" names on the run's branch; none where it names something else."""
    position = POSITION.fullmatch(reference)
    if position is None:
        return []
    branch = run.branch or TRUNK
    lines = [branch, *(origin for origin, _, _ in inherited(run.session_id, branch))]
    rows = Item.objects.filter(session_id=run.session_id, branch__in=lines)
    found = list(rows.filter(position=int(position[1])))
    return open_items(found, session_id=run.session_id)


def _digest(item: Item) -> str:
    return hashlib.sha256(item.raw.encode(errors="surrogatepass")).hexdigest()
