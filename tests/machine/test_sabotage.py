"""What the machine is worth: one guard is taken away, and it says what that broke.

The seed and the number of episodes are fixed. With the guard in its place, the same seed
and as many episodes find nothing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import FlakyFailure

from approvals.separation import requesters_side
from approvals.services.consume import _use_up
from sessions.runs import require_writer
from tenants.idempotency import check_once
from tests.machine.faults import Keyturn
from tests.machine.foundation import walk
from tests.machine.machine import House, Violated

type Guard = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sabotage:
    """What takes a guard's place, and what the machine must say before anything else."""

    guard: Guard
    instead: Guard
    said: str  # a regular expression
    seed: int
    episodes: int = 5


def nothing(*_: object) -> None:
    """Looks at nothing, refuses nothing, changes nothing."""


def nobody(*_: object) -> frozenset[UUID]:
    """Excludes no one."""
    return frozenset()


SABOTAGES: Final = {
    "single use": Sabotage(
        guard=_use_up,
        instead=nothing,
        said=r"effects_have_a_consumed_grant_for_those_bytes: .* no consumed grant",
        seed=1,
        episodes=2,
    ),
    "separation": Sabotage(
        guard=requesters_side,
        instead=nobody,
        said=r"decisions_are_of_people_who_may: .* a key that does not count",
        seed=1,
    ),
    "idempotency": Sabotage(
        guard=check_once,
        instead=nothing,
        said=r"\w+ was (carried out anew: \w+|done twice under one idempotency key)",
        seed=1,
    ),
    "fence": Sabotage(
        guard=require_writer,
        instead=nothing,
        said=r".* was done under an old fence",
        seed=3,
        episodes=8,
    ),
}
ALL: Final = [
    pytest.param(one, id=name, marks=() if name == "single use" else pytest.mark.long)
    for name, one in SABOTAGES.items()
]


def said_of(house: House, sabotage: Sabotage) -> list[str]:
    """What does not hold, as it was told, in the order of telling."""
    said: list[str] = []

    class Walk(Keyturn):
        def blame(self, found: list[str]) -> None:
            said.extend(found)
            super().blame(found)

    Walk.house = house
    how = settings(
        max_examples=sabotage.episodes,
        stateful_step_count=15,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    try:
        walk(Walk, house, sabotage.seed, how)
    except (Violated, FlakyFailure):  # the latter if it does not come a second time
        if not said:
            raise
    return said


@pytest.mark.parametrize("sabotage", ALL)
def test_a_missing_guard_is_noticed(
    machine_house: House, monkeypatch: pytest.MonkeyPatch, sabotage: Sabotage
) -> None:
    # The function's own code, whoever has imported it.
    monkeypatch.setattr(sabotage.guard, "__code__", sabotage.instead.__code__)
    said = said_of(machine_house, sabotage)
    monkeypatch.undo()
    assert said, machine_house.tally.outcomes
    assert re.fullmatch(sabotage.said, said[0])


@pytest.mark.parametrize("sabotage", ALL)
def test_with_the_guard_there_is_nothing_to_notice(
    machine_house: House, sabotage: Sabotage
) -> None:
    assert said_of(machine_house, sabotage) == []
    assert machine_house.tally.episodes >= sabotage.episodes
