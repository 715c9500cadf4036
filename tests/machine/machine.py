"""The rules: what may happen next. Each ends with all invariants, judged anew.

A verb may refuse with a code; whatever else it raises is a fault. What a step came to
is told, so that a long run can say what it has seen.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
)

from kernel.problems import Problem
from kernel.update import LostRace
from tests.machine import accounts, consumption, ending, judgement
from tests.machine.clockwork import Clock
from tests.machine.company import Company
from tests.machine.reset import restore
from tests.machine.sight import Eye, Sight, fingerprint
from tests.machine.workers import Held
from tests.machine.world import World, bystanders, fresh_world

RULES: Final = (
    *judgement.RULES,
    consumption.consumed_rightly,
    accounts.the_chain_continues,
    accounts.changes_are_on_record,
    accounts.others_are_untouched,
    accounts.evidence_is_there,
)


EPISODES_A_WORLD: Final = 40


class Violated(AssertionError):
    """An invariant does not hold after a step."""


@dataclass
class Tally:
    """What all episodes so far came to."""

    episodes: int = 0
    steps: int = 0
    interleavings: set[int] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)


@dataclass(kw_only=True)
class House:
    """What all episodes share."""

    company: Company
    superuser: psycopg.Connection[Any]
    clock: Clock
    tally: Tally = field(default_factory=Tally)
    world: World | None = None
    used: int = 0

    def fresh(self) -> tuple[World, Eye]:
        """A world as good as new: the last one restored, and now and then another."""
        if self.world is None or self.used >= EPISODES_A_WORLD:
            self.world, self.used = fresh_world(self.company), 0
        else:
            restore(self.world, Eye(self.superuser, self.world.tenant_id).look())
        self.used += 1
        return self.world, Eye(self.superuser, self.world.tenant_id)


class Base(RuleBasedStateMachine):
    """Looking, judging and ending; the rules themselves are in the subclasses."""

    house: House

    def __init__(self) -> None:
        super().__init__()
        self.world: World
        self.held: list[Held] = []
        self.trail: list[str] = []
        self.said_before: list[tuple[str, Callable[[], Any]]] = []
        self.spoiled = False
        self.house.tally.episodes += 1

    def set_up(self) -> None:
        self.bystander, _ = bystanders()
        self.untouched = fingerprint(self.house.superuser, self.bystander)
        self.world, self.eye = self.house.fresh()
        self.began = self.eye.seq
        self.sight = self.eye.look()

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """One thing that happens: it works, or refuses with a code."""
        try:
            yield
        except Problem as problem:
            self.tell(f"{what}: {problem.code}")
            if isinstance(problem, LostRace) or problem.status >= 500:
                self.spoiled = True
                raise
        except BaseException:
            self.spoiled = True
            raise
        else:
            self.tell(what)

    def tell(self, outcome: str) -> None:
        self.trail.append(outcome)
        self.house.tally.outcomes[outcome] += 1
        self.house.tally.steps += 1

    @invariant()
    def everything_holds(self) -> None:
        if self.spoiled or not hasattr(self, "world"):
            return
        before, self.sight = self.sight, self.eye.look()
        case = judgement.Case(world=self.world, before=before, after=self.sight)
        found = [f"{one.__name__}: {flaw}" for one in RULES for flaw in one(case)]
        self.blame(found)

    def blame(self, found: list[str]) -> None:
        if found:
            self.spoiled = True
            self.house.world = None
            raise Violated("\n".join(found))

    def pass_by(self, seconds: int) -> None:
        for system in self.world.systems.values():
            system.land()
        self.house.clock.pass_by(self.house.superuser, self.world.tenant_id, seconds)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for worker in self.held:
            if worker.at is not None:
                worker.go_on(dies_at=worker.at)
        self.house.tally.interleavings.add(hash(tuple(self.trail)))
        if not self.spoiled:
            self._end()
        if self.spoiled:
            self.house.world = None

    def _end(self) -> None:
        """Whatever is still going on comes to its end, and the books are closed."""
        look = self._judged
        sight = ending.drain(self.world, look, self.pass_by)
        self.blame(list(ending.standing(sight)))
        if ending.look_after_all(self.world, sight):
            sight = ending.drain(self.world, look, self.pass_by)
            self.blame([*ending.standing(sight), *ending.parked(sight)])
        self.blame(accounts.unsigned(self.world.tenant_id, self.began))
        now = fingerprint(self.house.superuser, self.bystander)
        changed = [table for table in now if now[table] != self.untouched[table]]
        self.blame([f"the bystander's {table} changed" for table in changed])

    def _judged(self) -> Sight:
        self.everything_holds()
        return self.sight

    # What rules choose from.

    def choose(self, rows: list[Any], pick: int) -> Any:
        return rows[pick % len(rows)]

    def requests(self, *states: str) -> list[Any]:
        return [one for one in self.sight.requests if one.state in states]

    def runs(self, *states: str) -> list[Any]:
        return [one for one in self.sight.runs if one.state in states]

    def jobs(self) -> list[Any]:
        """Those that are open. When they are due is for who delivers them to see to: a
        rule must not depend on how much time has really passed."""
        return [one for one in self.sight.jobs if one.due_at is not None]


PICK: Final = st.integers(0, 5)
SELDOM: Final = st.sampled_from([False, False, False, False, True])


def has(name: str, *states: str) -> Callable[[Any], Any]:
    """A rule that needs such rows."""
    return precondition(lambda self: bool(getattr(self, name)(*states)))


def of(rows: list[Any], row_id: UUID) -> Any:
    (found,) = [row for row in rows if row.id == row_id]
    return found
