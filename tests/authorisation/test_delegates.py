"""Answers that one person gives for another, in both directions, against the rule.

A delegation moves who is asked: neither of the two gets past what holds for either.
"""

from collections.abc import Callable, Iterable
from functools import partial

import pytest

from tests.authorisation.people import ANSWERS, People, gather_people, signed_in
from tests.authorisation.rehearsal import outcome, rehearsing
from tests.authorisation.rule import (
    RELATIONS,
    STANDINGS,
    Standing,
    expected_for,
    expected_instead,
)

# Each kind once; the long test takes all of them.
ROWS = (
    Standing(role="owner", rights="none"),
    Standing(role="auditor", rights="decide"),
    Standing(role="reviewer", rights="blind"),
    Standing(role="reviewer", rights="decide and edit"),
    Standing(role="developer", rights="resolve"),
    STANDINGS[-1],  # no member any more, and nobody comes back after that
)


def instead(people: People, verb: str, relation: str) -> str:
    """What Tess is answered, for Sam."""
    act = partial(ANSWERS[verb], signed_in(people.tess), people.things[relation])
    return outcome(partial(act, on_behalf_of=people.sam.id))


def for_another(people: People, verb: str, relation: str) -> str:
    """What Sam is answered, for Tess."""
    act = partial(ANSWERS[verb], people.person, people.things[relation])
    return outcome(partial(act, on_behalf_of=people.tess.id))


def wrong_instead(people: People, standings: Iterable[Standing]) -> list[str]:
    people.stage.on_leave(people.sam, people.tess)
    return wrong(people, standings, instead, expected_instead)


def wrong_for_another(people: People, standings: Iterable[Standing]) -> list[str]:
    people.stage.on_leave(people.tess, people.sam)
    return wrong(people, standings, for_another, expected_for)


def wrong(
    people: People,
    standings: Iterable[Standing],
    asked: Callable[[People, str, str], str],
    rule: Callable[[str, Standing, str], str],
) -> list[str]:
    """The rows in which somebody is answered otherwise than by the rule."""
    found = []
    for who in standings:
        people.become(who)
        with rehearsing():
            found += [
                f"{verb} by {who} as {relation}: {was}, and not {right}"
                for verb in ANSWERS
                for relation in RELATIONS
                if (was := asked(people, verb, relation))
                != (right := rule(verb, who, relation))
            ]
    return found


def test_whoever_stands_in_is_held_to_who_they_stand_in_for() -> None:
    assert wrong_instead(gather_people(), ROWS) == []


def test_whoever_stands_in_is_held_to_what_they_are() -> None:
    assert wrong_for_another(gather_people(), ROWS) == []


@pytest.mark.long
def test_both_hold_for_every_combination() -> None:
    assert wrong_instead(gather_people(), STANDINGS) == []
    assert wrong_for_another(gather_people(), STANDINGS) == []
