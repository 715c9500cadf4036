"""Time travel: what a run's state was at a version, at a time, and what changed."""

from datetime import timedelta
from typing import Any

import pytest

from sessions.models import Run
from tests.api import Api
from tests.factories import House
from tests.sessions.test_api import code, said


@pytest.fixture
def api(house: House) -> Api:
    return Api.of(house.robot)


def fact(value: Any, provenance: str = "tool") -> dict[str, Any]:
    return {
        "value": value,
        "provenance": provenance,
        "reference": "look",
        "evidence_digest": "9f3c",
    }


@pytest.fixture
def place(api: Api, run: Run) -> str:
    """A run with three versions: {a: 1}, {a: true, b: x}, and then a stage."""
    path = f"runs/{run.id}/transitions"
    for version, change in enumerate(
        (
            {"facts": {"a": fact(1)}},
            {"facts": {"a": fact(True, "system"), "b": fact("x", "user")}},
            {"stage": "checked"},
        )
    ):
        body = {"expected_version": version, "reason": "r", **change}
        said(api.post(path, body, fence=1), 201)
    return f"runs/{run.id}/state"


def values(document: Any) -> dict[str, Any]:
    return {name: one["value"] for name, one in document["facts"].items()}


def test_each_version_can_be_told_again(api: Api, place: str) -> None:
    told = [said(api.get(place, version=version)) for version in range(4)]
    assert [values(one) for one in told] == [
        {},
        {"a": 1},
        {"a": True, "b": "x"},
        {"a": True, "b": "x"},
    ]
    assert [one["stage"] for one in told] == ["", "", "", "checked"]
    assert told[2]["facts"]["a"]["provenance"] == "system"
    assert said(api.get(place)) == told[3]
    assert code(api.get(place, version=4)) == (404, "not_found")


def test_a_time_is_told_as_it_was(api: Api, place: str, run: Run) -> None:
    first = said(api.get(place, version=1))
    assert said(api.get(place, at=first["at"])) == first
    before = run.created_at - timedelta(seconds=1)
    assert code(api.get(place, at=before.isoformat())) == (404, "not_found")


def test_a_difference_tells_true_from_one(api: Api, place: str) -> None:
    told = said(api.get(f"{place}/diff", before=1, after=2))
    pairs = {
        one["name"]: (
            one["before"] and one["before"]["value"],
            one["after"] and one["after"]["value"],
        )
        for one in told["facts"]
    }
    assert pairs == {"a": (1, True), "b": (None, "x")}
    assert said(api.get(f"{place}/diff", before=2, after=2))["facts"] == []
    back = said(api.get(f"{place}/diff", before=2, after=1))
    assert [one["name"] for one in back["facts"]] == ["a", "b"]
