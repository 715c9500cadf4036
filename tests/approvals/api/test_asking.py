"""What an agent may not ask, and that a refused question leaves nothing behind."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints.models import Tool
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from sessions.models import Workflow
from tests.api import Answer, Api
from tests.api.traces import trace
from tests.api.world import World, action, fresh_world
from tests.concurrency import together
from tests.factories import fresh_house, unique


@pytest.fixture(scope="module")
def shared() -> World:
    return fresh_world()


@pytest.fixture
def world(shared: World) -> World:
    """Things of its own, among people who are there already."""
    return shared.afresh()


def code(answer: Answer) -> tuple[int, str, str | None]:
    document = answer.json()
    return answer.status_code, document["code"], document.get("pointer")


def position(**more: Any) -> dict[str, Any]:
    return {"parent": 1, "schema_version": 1, "payload": "", **more}


# -- Nothing is half-written ------------------------------------------------------------


def refusals(world: World) -> Iterator[tuple[str, str, dict[str, Any], int | None]]:
    """(why, address, body, fence) of asks for an unknown tool that must be refused."""
    fresh = {"tool": f"tool-{unique()}", "arguments": {}}
    pause = {"checkpoint": position(), "requests": [fresh]}
    place, nobodys = f"runs/{world.run.id}/pause", str(new_id())
    yield "no such run", f"runs/{nobodys}/pause", pause, 1
    yield "another writer", place, pause, 7
    yield "a newer head", place, {**pause, "checkpoint": position(parent=None)}, 1
    yield "a paused run", f"runs/{world.pending.run_id}/pause", pause, 1
    secret = {**fresh, "arguments": {"key": "AKIA" + "Z7QK3MXV2TPLW2RB"}}
    yield "a secret in the second", place, {**pause, "requests": [fresh, secret]}, 1
    twice = [{**fresh, "tool_call_id": "1"}, {**fresh, "tool_call_id": "1"}]
    yield "one call twice", place, {**pause, "requests": twice}, 1
    pointless = {**fresh, "response_schema": {"type": "nothing"}}
    yield "no schema", place, {**pause, "requests": [fresh, pointless]}, 1
    yield "no such session", "approvals", {**fresh, "session": nobodys}, None
    yield "no such run, in one call", "approvals", {**fresh, "run": nobodys}, 1


def test_a_refused_question_leaves_nothing_behind(world: World) -> None:
    api, cases = Api.of(world.house.robot), list(refusals(world))
    before = trace(world.house.id)
    for why, place, body, fence in cases:
        answer = api.post(place, body, fence=fence)
        assert 400 <= answer.status_code < 500, (why, answer.content)
        assert trace(world.house.id) == before, why


def test_in_a_tenant_where_nothing_is_declared_a_refusal_declares_nothing() -> None:
    house = fresh_house()
    api, before = Api.of(house.robot), trace(house.id)
    nobodys = str(new_id())
    assert api.post(f"sessions/{nobodys}/runs").status_code == 404
    asked = action(session=nobodys)
    assert api.post("approvals", asked).status_code == 404
    assert trace(house.id) == before


def test_one_call_declares_what_it_needs_once(world: World) -> None:
    house = fresh_house()
    api = Api.of(house.robot)
    answers = together(*[lambda: api.post("approvals", action())] * 4)
    assert [answer.status_code for answer in answers] == [201] * 4  # type: ignore[union-attr]
    with tenant_transaction(house.id):
        assert Tool.objects.get().reviewed is False
        assert Workflow.objects.count() == 1


# -- What may be asked ------------------------------------------------------------------

SCHEMAS: dict[str, Any] = {
    "a type there is none of": {"type": "nothing"},
    "a reference to elsewhere": {"$ref": "https://evil.example/schema"},
    "a reference to a file": {"$ref": "file:///etc/passwd"},
    "an address within": {"not": {"$id": "http://[", "$ref": "#"}},
    "look-around": {"type": "string", "pattern": "(?=a)b"},
    "a back-reference": {"pattern": r"(a)\1"},
    "a long pattern": {"pattern": "a" * 257},
    "a broken pattern": {"pattern": "("},
    "patterns for names": {"patternProperties": {"(a+)+$": {}}},
    "another dialect": {"$schema": "http://json-schema.org/draft-04/schema#"},
    "too much": {"enum": ["x" * 1000] * 70},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS.keys())
def test_a_hostile_schema_is_refused_when_it_is_asked_with(
    schema: dict[str, Any], world: World
) -> None:
    api, before = Api.of(world.house.robot), trace(world.house.id)
    status, why, pointer = code(api.post("approvals", action(response_schema=schema)))
    assert (status, why) == (422, "schema_invalid")
    assert (pointer or "").startswith("/response_schema")
    assert trace(world.house.id) == before


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}] * 9}}, "$ref": "#/$defs/a"},
        {"$ref": "#/nowhere"},
        {"$dynamicRef": "#nowhere"},
        {"$id": "urn:x", "$ref": "#/$defs/a"},
        {"$id": "http://[", "$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}},
        {"type": "string", "pattern": "^(a+)+$"},
    ],
)
def test_a_schema_that_never_ends_is_the_answers_problem_not_ours(
    schema: dict[str, Any], world: World
) -> None:
    asked = Api.of(world.house.robot).post("approvals", action(response_schema=schema))
    if asked.status_code != 201:
        assert code(asked)[:2] == (422, "schema_invalid")
        return
    said = {"verdict": "respond", "digest": asked.json()["digest"]}
    answer = world.house.bob.scripted().post(
        f"/api/v1/approvals/{asked.json()['id']}/decisions",
        {**said, "response": "a" * 200 + "!"},
        content_type="application/json",
    )
    assert answer.status_code == 422, answer.content


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"preconditions": [{"field": "A"}]}, "/preconditions/0/field"),
        ({"preconditions": [{"equals": 1}]}, "/preconditions/0/field"),
        ({"preconditions": [{"field": "a"}] * 21}, "/preconditions"),
        ({"preconditions": [{"field": "a", "max_age": 0}]}, "/preconditions/0/max_age"),
        ({"preconditions": [{"field": "a", "equals": "x" * 20_000}]}, None),
        ({"decide_within": 0}, "/decide_within"),
        ({"use_within": 10**9}, "/use_within"),
        ({"allowed_decisions": []}, "/allowed_decisions"),
        ({"allowed_decisions": ["approve", "Approve"]}, "/allowed_decisions"),
        ({"tool": "rm -rf /"}, "/tool"),
        ({"tool": "a" * 101}, "/tool"),
        ({"tool": "../../etc"}, "/tool"),
        ({"explanation": "x" * 20_001}, "/explanation"),
        ({"target": "x" * 20_000}, "/target"),
        ({"tool_call_id": "x" * 256}, "/tool_call_id"),
        ({"tool_call_id": ""}, "/tool_call_id"),
        ({"risk": "none"}, "/risk"),
        ({"run": "x"}, "/run"),
        ({"session": str(new_id()), "subject": "x"}, "/subject"),
        ({"run": str(new_id()), "session": str(new_id())}, "/session"),
        ({"run": str(new_id()), "subject": "x"}, "/subject"),
    ],
)
def test_a_value_out_of_its_bounds_is_refused_at_its_place(
    change: dict[str, Any], pointer: str | None, world: World
) -> None:
    answer = Api.of(world.house.robot).post("approvals", action(**change), fence=1)
    status, why, found = code(answer)
    assert (status, why) == (400, "invalid_field")
    assert pointer is None or found == pointer


def test_asked_so_a_tool_that_nobody_reviewed_is_refused_and_not_registered(
    world: World,
) -> None:
    api, name = Api.of(world.house.robot), f"tool-{unique()}"
    asked = {"tool": name, "arguments": {}, "reviewed_only": True}
    place = f"runs/{world.run.id}/pause"
    pause = {"checkpoint": position(), "requests": [action(), asked]}
    before = trace(world.house.id)
    assert code(api.post("approvals", asked)) == (409, "tool_not_reviewed", "/tool")
    inside = (409, "tool_not_reviewed", "/requests/1/tool")
    assert code(api.post(place, pause, fence=1)) == inside
    assert trace(world.house.id) == before
    assert api.post("approvals", {**asked, "reviewed_only": False}).status_code == 201
    assert code(api.post("approvals", asked)) == (409, "tool_not_reviewed", "/tool")
    known = action(reviewed_only=True)
    assert api.post("approvals", known).status_code == 201


def test_a_precondition_may_be_that_a_fact_is_null(world: World) -> None:
    asked = action(preconditions=[{"field": "a", "equals": None}])
    assert Api.of(world.house.robot).post("approvals", asked).status_code == 201


def test_a_header_that_is_a_payload_is_refused(world: World) -> None:
    large = position(header={"markers": {"a": "x" * 300_000}})
    body = {"checkpoint": large, "requests": [action()]}
    answer = Api.of(world.house.robot).post(f"runs/{world.run.id}/pause", body, fence=1)
    assert code(answer) == (422, "header_invalid", "/checkpoint/header")


# -- Lists ------------------------------------------------------------------------------


def test_a_list_costs_the_same_however_long_it_is(world: World) -> None:
    api, counts = Api.of(world.house.robot), []
    for _ in range(3):
        run = api.post("approvals", action()).json()["run"]
        with CaptureQueriesContext(connection) as queries:
            listed = api.get("approvals").json()["items"]
        assert run in {one["run"] for one in listed}
        counts.append(len(queries))
    assert counts == [counts[0]] * 3


def test_an_approval_in_a_list_is_as_it_is_read_alone(world: World) -> None:
    _ = world.effect, world.unclear, world.approved, world.pending
    api = Api.of(world.house.robot)
    listed = {one["id"]: one for one in api.get("approvals", limit=200).json()["items"]}
    for request in (world.redeemed, world.unclear, world.approved, world.pending):
        alone = api.get(f"approvals/{request.id}").json()
        assert listed[str(request.id)] == alone
