"""The API's foundation: strict bodies, problems, replays, pages."""

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test import AsyncClient, Client

from tenants.idempotency import kept_key
from tests.factories import House, fresh_key
from tests.tenants.test_authentication import problem

pytestmark = pytest.mark.urls("tests.tenants.probe")
ECHO = "/api/v1/echo"
GROUPS = "/api/v1/groups"
JSON = "application/json"


def post(
    client: Client, url: str, body: Any, *, kind: str = JSON, **headers: str
) -> Any:
    raw = body if isinstance(body, str | bytes) else json.dumps(body)
    return client.post(url, raw, content_type=kind, headers=headers)


def flaws(response: Any) -> list[tuple[str, str]]:
    document = response.json()
    found = [(each["pointer"], each["code"]) for each in document["errors"]]
    assert document["pointer"] == found[0][0]
    return found


# -- Bodies -----------------------------------------------------------------------------


def test_a_body_of_the_declared_shape_is_read(house: House) -> None:
    body = {
        "name": "Ada",
        "count": 1,
        "share": 0.5,
        "sure": True,
        "kind": "a",
        "tags": ["x"],
        "counts": {"a": 1},
        "place": {"x": 1, "y": 2},
        "anything": {"a": [1, None, "x", True]},
    }
    response = post(house.robot.client(), ECHO, body)
    assert response.status_code == 200
    assert response.json() == body


@pytest.mark.parametrize(
    ("extra", "pointer"),
    [
        ({"other": 1}, "/other"),
        ({"made": "x"}, "/made"),
        ({"place": {"x": 1, "z": 2}}, "/place/z"),
        ({"path_": [{"x": 1}, {"x": 1, "a/b~": 2}]}, "/path_/1/a~1b~0"),
        ({"Name": "x"}, "/Name"),
    ],
)
def test_an_unknown_key_is_refused_where_it_is(
    extra: dict[str, Any], pointer: str, house: House
) -> None:
    response = post(house.robot.client(), ECHO, {"name": "Ada", **extra})
    document = problem(response, 400, "unknown_field")
    assert document["pointer"] == pointer


@pytest.mark.parametrize(
    ("extra", "pointer"),
    [
        ({"name": 5}, "/name"),
        ({"name": True}, "/name"),
        ({"name": ["Ada"]}, "/name"),
        ({"count": "5"}, "/count"),
        ({"count": 5.0}, "/count"),
        ({"count": True}, "/count"),
        ({"share": "0.5"}, "/share"),
        ({"share": False}, "/share"),
        ({"sure": 1}, "/sure"),
        ({"sure": "true"}, "/sure"),
        ({"kind": 1}, "/kind"),
        ({"at": 0}, "/at"),
        ({"owner": 7}, "/owner"),
        ({"tags": "x"}, "/tags"),
        ({"tags": {"0": "x"}}, "/tags"),
        ({"tags": ["x", 1]}, "/tags/1"),
        ({"counts": {"a": "1"}}, "/counts/a"),
        ({"place": []}, "/place"),
        ({"place": {"x": "1"}}, "/place/x"),
        ({"path_": {"x": 1}}, "/path_"),
        ({"path_": [{"x": 1}, {"x": True}]}, "/path_/1/x"),
    ],
)
def test_another_type_is_refused_not_converted(
    extra: dict[str, Any], pointer: str, house: House
) -> None:
    response = post(house.robot.client(), ECHO, {"name": "Ada", **extra})
    problem(response, 400, "wrong_type")
    assert flaws(response) == [(pointer, "wrong_type")]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, [("/name", "required")]),
        ({"name": None}, [("/name", "null")]),
        ({"name": "Matilda"}, [("/name", "max_length")]),
        ({"name": "bad"}, [("/name", "invalid")]),
        ({"name": "Ada", "count": 0}, [("/count", "min_value")]),
        ({"name": "Ada", "kind": "c"}, [("/kind", "invalid_choice")]),
        ({"name": "Ada", "place": {}}, [("/place/x", "required")]),
        (
            {"name": "Ada", "path_": [{"x": 1}, {}]},
            [("/path_/1/x", "required")],
        ),
        ({"name": "Ada", "tags": ["x", ""]}, [("/tags/1", "blank")]),
        ({"count": 0}, [("/name", "required"), ("/count", "min_value")]),
    ],
)
def test_every_flaw_has_its_pointer_and_code(
    body: dict[str, Any], found: list[tuple[str, str]], house: House
) -> None:
    response = post(house.robot.client(), ECHO, body)
    problem(response, 400, "invalid_field")
    assert sorted(flaws(response)) == sorted(found)


@pytest.mark.parametrize("body", ["[]", "1", '"x"', "true", "null"])
def test_a_body_is_an_object(body: str, house: House) -> None:
    response = post(house.robot.client(), ECHO, body)
    assert response.status_code == 400
    assert response.json()["pointer"] == ""


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "json.syntax"),
        (b'{"name": "a", "name": "b"}', "json.duplicate_key"),
        (b'{"count": NaN}', "json.number_not_exact"),
        (b'{"count": 9007199254740993}', "json.number_not_exact"),
        (b'{"name": "\\ud800"}', "json.surrogate"),
        (b'{"name": "\\u0000"}', "json.null_character"),
        (b"\xff", "json.encoding"),
        (b"[" * 65 + b"]" * 65, "json.depth"),
    ],
)
def test_json_is_strict(body: bytes, code: str, house: House) -> None:
    problem(post(house.robot.client(), ECHO, body), 400, code)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "text/json", ""]
)
def test_another_content_type_is_415(kind: str, house: House) -> None:
    response = post(house.robot.client(), ECHO, '{"name": "Ada"}', kind=kind)
    problem(response, 415, "unsupported_media_type")


def test_a_form_is_415(house: House) -> None:
    response = house.robot.client().post(ECHO, {"name": "Ada"})
    problem(response, 415, "unsupported_media_type")


def test_a_charset_is_no_hindrance_but_no_other_encoding_is_read(
    house: House,
) -> None:
    kind = "application/json; charset=utf-8"
    answer = post(house.robot.client(), ECHO, {"name": "Ada"}, kind=kind)
    assert answer.status_code == 200
    kind = "application/json; charset=utf-16"  # the client encodes accordingly
    answer = post(house.robot.client(), ECHO, {"name": "Ada"}, kind=kind)
    problem(answer, 400, "json.encoding")


def test_a_body_over_the_views_limit_is_413(house: House) -> None:
    body = json.dumps({"name": "Ada"})
    allowed = post(house.robot.client(), "/api/v1/small", body.ljust(64))
    assert allowed.status_code == 200
    response = post(house.robot.client(), "/api/v1/small", body.ljust(65))
    problem(response, 413, "body_too_large")


def test_a_body_over_the_installations_limit_is_413(
    house: House, settings: Any
) -> None:
    settings.BODY_LIMIT = 20
    response = post(house.robot.client(), ECHO, {"name": "Ada", "count": 1})
    problem(response, 413, "body_too_large")


def test_a_body_of_unannounced_length_is_411(house: House) -> None:
    response = house.robot.client().generic(
        "POST", ECHO, headers={"Transfer-Encoding": "chunked"}
    )
    problem(response, 411, "length_required")


@pytest.mark.parametrize(
    "query", ["?other=1", "?flag=true&flag=false", "?flag=perhaps"]
)
def test_parameters_are_strict_too(query: str, house: House) -> None:
    document = problem(house.robot.client().get(ECHO + query), 400, "invalid_parameter")
    assert document["parameter"] in ("other", "flag")


def test_known_parameters_are_read(house: House) -> None:
    assert house.robot.client().get(ECHO + "?flag=true").json() == {"flag": True}


# -- Problems ---------------------------------------------------------------------------


def test_an_unexpected_error_tells_nothing(house: House) -> None:
    response = house.robot.client().get("/api/v1/failing")
    document = problem(response, 500, "unexpected")
    assert b"1234" not in response.content
    assert set(document) == {"type", "title", "status", "detail", "code"}


def test_a_database_that_is_down_is_503_and_tells_nothing(house: House) -> None:
    response = house.robot.client().get("/api/v1/failing?how=database")
    problem(response, 503, "unavailable")
    assert int(response["Retry-After"]) > 0
    assert b"10.0.0.7" not in response.content


def test_another_method_is_405_and_names_those_that_work(house: House) -> None:
    response = house.robot.client().delete(ECHO)
    problem(response, 405, "method_not_allowed")
    assert response["Allow"] == "GET, POST, HEAD, OPTIONS"


def test_an_unknown_address_is_a_problem_too() -> None:
    problem(Client().get("/api/v1/nothing"), 404, "not_found")


def test_a_plain_view_answers_alike() -> None:
    document = problem(Client().get("/api/v1/plain"), 409, "probe_refused")
    assert document["pointer"] == "/there"


def test_a_plain_asynchronous_view_answers_alike() -> None:
    get = async_to_sync(AsyncClient().get)
    problem(get("/api/v1/later"), 409, "probe_refused")
    assert get("/api/v1/later?ok=1").status_code == 200


def test_a_request_has_a_name() -> None:
    response = Client().get("/api/v1/plain")
    assert len(response["X-Request-ID"]) == 32
    given = Client(headers={"X-Request-ID": "abcdefgh-1"}).get("/api/v1/plain")
    assert given["X-Request-ID"] == "abcdefgh-1"


@pytest.mark.parametrize("name", ["short", "x" * 129, "line\\nbreak", "a b c d e"])
def test_a_name_that_is_not_plain_is_replaced(name: str) -> None:
    response = Client(headers={"X-Request-ID": name}).get("/api/v1/plain")
    assert response["X-Request-ID"] != name


# -- Replays ----------------------------------------------------------------------------


def test_without_a_key_the_answer_is_rendered_within_the_scope(house: House) -> None:
    response = post(house.robot.client(), GROUPS, {"name": "one"})
    assert response.status_code == 201
    assert response.json()["keys"] == 1
    assert post(house.robot.client(), GROUPS, {"name": "one"}).status_code == 500


def test_the_same_key_and_body_get_the_stored_answer(house: House) -> None:
    client, key = house.robot.client(), {"Idempotency-Key": "a-1"}
    first = post(client, GROUPS, {"name": "one"}, **key)
    again = post(client, GROUPS, {"name": "one"}, **key)
    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert again["Content-Type"] == first["Content-Type"] == "application/json"
    assert again["Idempotent-Replay"] == "true"
    assert "Idempotent-Replay" not in first


def test_a_key_rotation_does_not_lose_the_answer(house: House) -> None:
    key = {"Idempotency-Key": "a-1"}
    first = post(house.robot.client(), GROUPS, {"name": "one"}, **key)
    rotated = fresh_key(house.alice, house.robot.agent)
    again = post(rotated.client(), GROUPS, {"name": "one"}, **key)
    assert again.content == first.content


def test_another_body_under_the_same_key_is_422(house: House) -> None:
    client, key = house.robot.client(), {"Idempotency-Key": "a-1"}
    post(client, GROUPS, {"name": "one"}, **key)
    problem(post(client, GROUPS, {"name": "two"}, **key), 422, "idempotency_mismatch")
    respelt = post(client, GROUPS, '{"name":"one"}', **key)
    problem(respelt, 422, "idempotency_mismatch")


def test_another_tenants_equal_key_is_independent(house: House) -> None:
    from tests.factories import fresh_house

    other, key = fresh_house(), {"Idempotency-Key": "a-1"}
    for robot in (house.robot, other.robot):
        assert post(robot.client(), GROUPS, {"name": "one"}, **key).status_code == 201


def test_a_request_in_flight_is_409(house: House) -> None:
    name = f"idempotency:{house.id}:{house.robot.agent.id}:{kept_key('a-1')}"
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [name])
        response = post(
            house.robot.client(), GROUPS, {"name": "one"}, **{"Idempotency-Key": "a-1"}
        )
        problem(response, 409, "idempotency_in_flight")
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock_all()")
    finally:
        other.close()


def test_a_refusal_that_was_committed_is_replayed_as_one(house: House) -> None:
    client, key = house.robot.client(), {"Idempotency-Key": "a-1"}
    first = post(client, GROUPS, {"name": "no"}, **key)
    problem(first, 409, "probe_refused")
    again = post(client, GROUPS, {"name": "no"}, **key)
    problem(again, 409, "probe_refused")
    assert again["Idempotent-Replay"] == "true"
    assert again.json() == first.json()


@pytest.mark.parametrize("key", ["", "with space", "x" * 256, "ä"])
def test_an_idempotency_key_is_visible_ascii(key: str, house: House) -> None:
    response = post(
        house.robot.client(), GROUPS, {"name": "one"}, **{"Idempotency-Key": key}
    )
    problem(response, 400, "idempotency_key_malformed")


# -- Pages ------------------------------------------------------------------------------


def test_pages_follow_one_another_without_gap_or_repetition(house: House) -> None:
    client = house.robot.client()
    for number in range(5):
        post(client, GROUPS, {"name": f"g{number}"})
    names: list[str] = []
    cursor = ""
    while True:
        answer = client.get(f"{GROUPS}?limit=2&cursor={cursor}").json()
        assert len(answer["items"]) <= 2
        names += [item["name"] for item in answer["items"]]
        cursor = answer["next"]
        if cursor is None:
            break
    assert names == ["g4", "g3", "g2", "g1", "g0", "Reviewers"]


def test_a_row_added_meanwhile_does_not_shift_the_next_page(house: House) -> None:
    client = house.robot.client()
    for number in range(3):
        post(client, GROUPS, {"name": f"g{number}"})
    first = client.get(f"{GROUPS}?limit=2").json()
    post(client, GROUPS, {"name": "late"})
    second = client.get(f"{GROUPS}?limit=2&cursor={first['next']}").json()
    assert [item["name"] for item in second["items"]] == ["g0", "Reviewers"]


@pytest.mark.parametrize("cursor", ["x", "!!", "W10", "WzFd", "WyJhIiwiYiJd", "e30"])
def test_a_cursor_of_someones_own_making_is_refused(cursor: str, house: House) -> None:
    response = house.robot.client().get(f"{GROUPS}?cursor={cursor}")
    problem(response, 400, "invalid_cursor")


@pytest.mark.parametrize("limit", ["0", "201", "-1", "x", "1e2", "²", "9" * 5000, ""])
def test_a_limit_is_a_small_number(limit: str, house: House) -> None:
    problem(house.robot.client().get(GROUPS, {"limit": limit}), 400, "invalid_limit")


def test_a_list_cannot_ask_for_one_more_query_a_row(house: House) -> None:
    problem(house.robot.client().get("/api/v1/blocked"), 500, "unexpected")
