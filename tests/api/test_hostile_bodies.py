"""Whatever is sent to any door is answered with a problem, and leaves no trace."""

import re
from collections.abc import Iterable
from typing import Any

import pytest

from tests.api import attacks, contract
from tests.api.attacks import Attack
from tests.api.door import Door
from tests.api.doors import DOORS, WRITING, found_in_urlconf
from tests.api.traces import trace
from tests.api.world import World, fresh_world

CODE = re.compile(r"[a-z]+(?:[._][a-z0-9]+)*")
BY_NAME = pytest.mark.parametrize("door", WRITING, ids=lambda door: door.name)
LONGEST_REFUSAL = 16 * 1024  # bytes: what was sent is not sent back


@pytest.fixture(scope="module")
def world() -> World:
    """Shared by all attacks: each of them must leave it as it was."""
    return fresh_world()


def test_every_address_of_the_api_is_listed_here() -> None:
    listed = [(door.method, door.route) for door in DOORS]
    assert sorted(listed) == sorted(found_in_urlconf())


@BY_NAME
def test_what_is_attacked_here_is_otherwise_accepted(door: Door, world: World) -> None:
    answer = door.call(world.afresh())
    assert answer.status_code in {200, 201}, answer.content


def flaws(door: Door, answer: Any, attack: Attack) -> str:
    """Why this answer is not how one refuses; empty if it is."""
    if not 400 <= answer.status_code < 500:
        return f"answered {answer.status_code}: {answer.content[:200]!r}"
    if answer["Content-Type"] != "application/problem+json":
        return f"is {answer['Content-Type']}"
    problem = answer.json()
    if problem["status"] != answer.status_code or not CODE.fullmatch(problem["code"]):
        return f"is no problem: {problem}"
    if attack.codes and problem["code"] not in attack.codes:
        return f"has the code {problem['code']}: {problem['detail'][:200]}"
    if attack.pointer is not None and problem.get("pointer") != attack.pointer:
        return f"points at {problem.get('pointer')!r}"
    if (answer.status_code, problem["code"]) not in contract.refusals(door):
        return f"has the code {problem['code']}, which is not in the description"
    if len(answer.content) > LONGEST_REFUSAL:
        return f"has {len(answer.content)} bytes"
    return ""


def check_all(door: Door, world: World, made: Iterable[Attack]) -> None:
    place, client, failed = door.address(world), door.client(world), []
    headers, attacks = door.fenced(world), list(made)
    before = trace(world.house.id)
    for attack in attacks:
        answer = door.call(
            world, client, raw=attack.body, address=place, headers=headers
        )
        flaw = flaws(door, answer, attack)
        if flaw:
            failed.append(f"{attack.name}: {flaw}")
    assert not failed, "\n".join(failed[:40])
    assert trace(world.house.id) == before


def body_of(door: Door, world: World) -> dict[str, Any]:
    assert door.body is not None
    return door.body(world)


@BY_NAME
def test_a_body_that_is_not_one_strict_object_is_refused(
    door: Door, world: World
) -> None:
    check_all(door, world, attacks.malformed(body_of(door, world)))


@BY_NAME
def test_no_value_at_any_depth_is_loosely_read(door: Door, world: World) -> None:
    check_all(door, world, attacks.bad_values(body_of(door, world), raw=door.raw))


@BY_NAME
def test_no_key_is_overlooked_at_any_depth(door: Door, world: World) -> None:
    free = (*door.free, *door.raw, "/facts")
    check_all(door, world, attacks.unknown_keys(body_of(door, world), free=free))


@BY_NAME
def test_no_type_is_converted(door: Door, world: World) -> None:
    made = attacks.wrong_types(
        body_of(door, world), free=door.free, nullable=door.nullable, raw=door.raw
    )
    check_all(door, world, made)


@BY_NAME
def test_no_text_is_endless(door: Door, world: World) -> None:
    free = (*door.free, *door.raw, "/header", "/checkpoint/header")
    check_all(door, world, attacks.huge_texts(body_of(door, world), free=free))


@BY_NAME
def test_no_word_is_trimmed(door: Door, world: World) -> None:
    free = (*door.free, *door.raw, "/header", "/checkpoint/header")
    check_all(door, world, attacks.padded_words(body_of(door, world), free=free))
