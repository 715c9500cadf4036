"""Upgrade steps lead one way, without a gap, and come out the same each time."""

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.upgrades import (
    MAX_HEADER,
    MAX_PAYLOAD,
    Content,
    LadderBroken,
    Registry,
    Step,
    StepFailed,
    json_step,
    upgrade,
)

versions = st.integers(min_value=-2, max_value=12)
ladders = st.lists(
    st.integers(min_value=1, max_value=10_000), min_size=2, max_size=7, unique=True
).map(sorted)
json_objects = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    st.integers(-(2**53) + 1, 2**53 - 1) | st.text("abcé"),
    max_size=6,
)


def noted(from_version: int, to_version: int) -> Step:
    """A step that leaves its name in the payload and the header."""

    def change(content: Content) -> Content:
        mark = f"{from_version}>{to_version};"
        completed: Any = content.header.get("completed", [])
        header = {**content.header, "completed": [*completed, mark]}
        return Content(content.payload + mark.encode(), header)

    name = f"step_{from_version}"
    return Step(
        from_version=from_version, to_version=to_version, name=name, change=change
    )


def climbing(*rungs: int) -> tuple[Step, ...]:
    return tuple(itertools.starmap(noted, itertools.pairwise(rungs)))


@given(st.lists(st.tuples(versions, versions), max_size=5))
def test_only_an_unbroken_way_onwards_is_registered(pairs: list[Any]) -> None:
    onwards = all(1 <= one < two for one, two in pairs)
    joined = all(one[1] == two[0] for one, two in itertools.pairwise(pairs))
    registry = Registry()
    if pairs and onwards and joined:
        registry.register("kind", *itertools.starmap(noted, pairs))
        assert len(registry.steps("kind")) == len(pairs)
    else:
        with pytest.raises(LadderBroken):
            registry.register("kind", *itertools.starmap(noted, pairs))
        assert registry.kinds() == ()


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ([(1, 2), (3, 4)], "begins at 3"),
        ([(1, 2), (2, 1)], "not onwards"),
        ([(1, 1)], "not onwards"),
        ([(2, 3), (1, 2)], "begins at 1"),
        ([(1, 2), (1, 2)], "begins at 1"),
        ([(0, 1)], "not onwards"),
        ([], "no steps"),
    ],
)
def test_a_broken_ladder_is_refused_with_the_place(pairs: list[Any], why: str) -> None:
    with pytest.raises(LadderBroken, match=why):
        Registry().register("kind", *itertools.starmap(noted, pairs))


def test_a_kind_of_work_has_one_ladder() -> None:
    registry = Registry()
    registry.register("kind", *climbing(1, 2))
    with pytest.raises(LadderBroken, match="already"):
        registry.register("kind", *climbing(2, 3))
    registry.register("other", *climbing(1, 3))
    assert registry.kinds() == ("kind", "other")


@given(ladders, st.data())
def test_the_way_leads_to_the_newest_known_version_that_is_reached(
    rungs: list[int], data: st.DataObject
) -> None:
    registry = Registry()
    registry.register("kind", *climbing(*rungs))
    found = data.draw(st.sampled_from(rungs) | versions)
    known = data.draw(st.sets(st.sampled_from(rungs) | versions))
    way = registry.way("kind", found, known)
    reachable = [one for one in rungs if one > found and one in known]

    if found not in rungs or not reachable:
        assert way is None
        return
    assert way is not None
    assert way[0].from_version == found
    assert way[-1].to_version == max(reachable)
    assert all(a.to_version == b.from_version for a, b in itertools.pairwise(way))
    assert registry.way("nobody's", found, known) is None


@given(ladders, st.binary(max_size=40), st.randoms(use_true_random=False))
def test_an_upgrade_is_the_same_whoever_does_it_and_leaves_what_it_reads(
    rungs: list[int], payload: bytes, chance: random.Random
) -> None:
    steps = climbing(*rungs)
    names = ["a", "b", "c"]
    chance.shuffle(names)
    header: dict[str, Any] = {"markers": dict.fromkeys(names, 1), "completed": ["x"]}
    content = Content(payload, header)
    before = content.digest
    first, applied = upgrade(content, steps)
    again, _ = upgrade(
        Content(payload, {**header, "markers": dict.fromkeys("abc", 1)}), steps
    )

    assert first.digest == again.digest
    assert content.digest == before
    assert first.payload.startswith(payload)
    assert [one.step for one in applied] == list(steps)
    assert applied[0].before == before
    assert applied[-1].after == first.digest
    assert all(a.after == b.before for a, b in itertools.pairwise(applied))


@given(ladders, st.integers(min_value=0, max_value=6))
def test_stopping_half_way_and_going_on_is_the_same(rungs: list[int], at: int) -> None:
    steps, content = climbing(*rungs), Content(b"p", {})
    half, _ = upgrade(content, steps[:at])
    assert upgrade(half, steps[at:])[0].digest == upgrade(content, steps)[0].digest


def failing(change: Any) -> Step:
    return Step(from_version=1, to_version=2, name="bad", change=change)


def of_chance(content: Content) -> Content:
    return Content(random.randbytes(16), content.header)


counted = itertools.count()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (of_chance, "another result each time"),
        (lambda one: Content(b"%d" % next(counted), one.header), "another result"),
        (lambda one: 1 / 0, "ZeroDivisionError"),
        (lambda one: None, "AttributeError"),
        (lambda one: Content("text", one.header), "TypeError"),
        (lambda one: Content(bytes(MAX_PAYLOAD + 1), one.header), "Problem"),
        (lambda one: Content(b"", {"markers": {"a": "x" * MAX_HEADER}}), "Problem"),
        (lambda one: Content(b"", {"approved": True}), "Problem"),
        (lambda one: Content(b"", {"completed": {"a"}}), "Problem"),
    ],
)
def test_a_step_that_is_not_what_it_should_be_is_refused(change: Any, why: str) -> None:
    with pytest.raises(StepFailed) as raised:
        upgrade(Content(b"secret", {}), [failing(change)])
    assert why in raised.value.why
    assert "secret" not in f"{raised.value} {raised.value.why}"


def test_a_step_that_alters_what_it_was_given_alters_a_copy() -> None:
    def change(content: Content) -> Content:
        completed: Any = content.header["completed"]
        completed.append("more")
        return content

    header: dict[str, Any] = {"completed": ["read"]}
    changed, _ = upgrade(Content(b"", header), [failing(change)])
    assert header == {"completed": ["read"]}
    assert changed.header == {"completed": ["read", "more"]}


@given(json_objects)
def test_a_step_on_json_gives_one_text_for_one_value(value: dict[str, Any]) -> None:
    import json

    def renamed(payload: dict[str, Any]) -> dict[str, Any]:
        payload["new"] = payload.pop("old", None)
        return payload

    step = json_step(1, 2, renamed)
    texts = [
        json.dumps(value, indent=2, ensure_ascii=True),
        json.dumps(dict(reversed(value.items())), ensure_ascii=False),
    ]
    digests = {upgrade(Content(t.encode(), {}), [step])[0].digest for t in texts}
    assert len(digests) == 1
    assert step.name == "renamed"


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b"null", b'{"a":1', b"\xff", b'{"a":1,"a":2}']
)
def test_a_step_on_json_reads_nothing_else(payload: bytes) -> None:
    with pytest.raises(StepFailed):
        upgrade(Content(payload, {}), [json_step(1, 2, dict)])
