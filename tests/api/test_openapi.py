"""The description of the API is true of each door."""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from config import api_docs
from tests.api import contract
from tests.api.door import Door
from tests.api.doors import DOORS
from tests.api.world import World, fresh_world

ANY = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)


@pytest.fixture(scope="module")
def world() -> World:
    return fresh_world()


@ANY
def test_what_is_sent_and_answered_is_as_described(door: Door, world: World) -> None:
    fresh = world.afresh()
    if door.body:
        assert contract.body_flaw(door, door.body(fresh)) == ""
    answer = door.call(fresh)
    assert answer.status_code in {200, 201}, answer.content
    assert contract.answer_flaw(door, answer) == ""


@ANY
def test_parameters_and_headers_are_described(door: Door) -> None:
    assert contract.parameters(door, "query") == set(door.query)
    headers = contract.parameters(door, "header")
    assert ("Idempotency-Key" in headers) == (door.method == "post")
    if door.fence:
        assert "Keyturn-Fence" in headers
    operation = contract.operation(door)
    assert operation["description"]
    expected = [{"apiKey": []}]
    if door.who == "member":
        expected = [{"session": [], "csrf": [], "tenant": []}]
    assert operation["security"] == expected


def test_an_operation_is_called_by_one_name() -> None:
    names = [contract.operation(door)["operationId"] for door in DOORS]
    assert len(set(names)) == len(names)


def test_every_example_of_a_refusal_is_a_problem_of_its_status() -> None:
    examples = contract.document()["components"]["examples"]
    for door in DOORS:
        for status, code in contract.refusals(door):
            assert examples[code]["value"]["status"] == status
            assert examples[code]["value"]["code"] == code


def test_every_example_of_a_body_may_be_sent() -> None:
    shown = 0
    for door in DOORS:
        said: Any = contract.operation(door).get("requestBody", {"content": {}})
        for content in said["content"].values():
            for example in content.get("examples", {}).values():
                assert contract.body_flaw(door, example["value"]) == ""
                shown += 1
    assert shown >= 4


# -- Where it is read -------------------------------------------------------------------


def test_the_description_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Client().get("/api/v1/schema")
    assert first["Content-Type"] == "application/vnd.oai.openapi+json"
    assert first.json()["openapi"].startswith("3.1")
    monkeypatch.setattr(api_docs, "SchemaGenerator", None)
    assert Client().get("/api/v1/schema").content == first.content


@pytest.mark.parametrize("place", ["schema", "docs"])
def test_the_description_is_only_read(place: str) -> None:
    client = Client(enforce_csrf_checks=True)
    for method in (client.post, client.put, client.delete, client.options):
        answer = method(f"/api/v1/{place}")
        assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")
    assert client.head(f"/api/v1/{place}").status_code == 200
    unknown = client.get(f"/api/v1/{place}?format=yaml")
    assert unknown.json()["code"] == "invalid_parameter"


def test_the_page_has_a_policy_of_its_own_and_no_other_page_has_it() -> None:
    policy = Client().get("/api/v1/docs")["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "img-src 'self' data:" in policy
    assert "form-action 'none'" in policy
    for place in ("/", "/api/v1/schema", "/accounts/login/"):
        other = Client().get(place)["Content-Security-Policy"]
        assert "data:" not in other
        for name in settings.SECURE_CSP:
            assert name in other
