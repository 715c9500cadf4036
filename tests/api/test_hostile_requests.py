"""Everything of a request but the meaning of its body: address, parameters, headers."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.test import Client

from kernel.ids import new_id
from tests.api.attacks import HUGE
from tests.api.door import PREFIX, Door
from tests.api.doors import DOORS, METHODS, POSTING, READING, WRITING
from tests.api.traces import trace
from tests.api.world import NAMES, World, fresh_world

ANY = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
POSTS = pytest.mark.parametrize("door", POSTING, ids=lambda door: door.name)
WRITES = pytest.mark.parametrize("door", WRITING, ids=lambda door: door.name)
LISTS = pytest.mark.parametrize(
    "door", [d for d in READING if "cursor" in d.query], ids=lambda door: door.name
)


@pytest.fixture(scope="module")
def world() -> World:
    return fresh_world().complete()


def problem(answer: Any) -> tuple[int, str]:
    assert answer["Content-Type"] == "application/problem+json", answer.content
    document = answer.json()
    assert document["status"] == answer.status_code
    return answer.status_code, document["code"]


def refused(answer: Any, *codes: str) -> None:
    status, code = problem(answer)
    assert 400 <= status < 500, code
    assert not codes or code in codes, code


def some(values: Sequence[str], door: Door, number: int = 3) -> list[str]:
    """A few of them; the next door is tried with the next few, so that all are used."""
    start = DOORS.index(door) * number
    return [values[(start + step) % len(values)] for step in range(number)]


# -- Addresses --------------------------------------------------------------------------

NO_IDS = (
    *("1", "-1", "0", "null", "me", "x" * 500, "0" * 32, "..", "%00", "%ff", "'"),
    *(str(new_id()).upper(), f"{new_id()}.json", f"{new_id()}%0a"),
)


@ANY
def test_what_is_no_id_is_not_there(door: Door, world: World) -> None:
    for name in NAMES:
        if f"{{{name}}}" not in door.place:
            continue
        for text in some(NO_IDS, door):
            answer = door.call(world, address=door.address(world, **{name: text}))
            assert problem(answer) == (404, "not_found"), text


@ANY
def test_an_address_ends_where_it_ends(door: Door, world: World) -> None:
    for more in ("/", "/x", ".json", "%2f", ";x=1", "%20"):
        answer = door.call(world, address=door.address(world) + more)
        assert problem(answer) == (404, "not_found"), more


@pytest.mark.parametrize("number", ["0", "01", "-1", "1.0", "99999999999", "last", "²"])
def test_a_checkpoint_has_a_plain_number(number: str, world: World) -> None:
    place = f"/{PREFIX}/runs/{world.run.id}/checkpoints/{number}"
    assert problem(world.house.robot.client().get(place)) == (404, "not_found")


@ANY
def test_another_method_is_not_allowed_and_does_nothing(
    door: Door, world: World
) -> None:
    client, place = door.client(world), door.address(world)
    handled = {one.method for one in DOORS if one.route == door.route}
    before = trace(world.house.id)
    for method in {*METHODS, "options", "trace", "propfind"} - handled:
        answer = client.generic(method.upper(), place, b"{}", "application/json")
        assert problem(answer) == (405, "method_not_allowed"), method
        assert set(answer["Allow"].lower().split(", ")) >= handled
    assert trace(world.house.id) == before


@pytest.mark.parametrize("door", READING, ids=lambda door: door.name)
def test_a_head_is_a_get_without_its_body(door: Door, world: World) -> None:
    answer = door.client(world).head(door.address(world))
    assert (answer.status_code, answer.content) == (200, b"")


def test_a_head_of_what_is_only_written_is_not_allowed(world: World) -> None:
    place = f"/{PREFIX}/runs/{world.run.id}/claim"
    answer = world.house.robot.client().head(place)
    assert (answer.status_code, answer.content) == (405, b"")


# -- Parameters -------------------------------------------------------------------------


UNKNOWN = ("order_by=-id", "tenant=x", "format=xml", "Limit=1", "=", "%00=1")


@ANY
def test_a_parameter_that_is_not_known_is_refused(door: Door, world: World) -> None:
    place = door.address(world)
    before = trace(world.house.id)
    for query in some(UNKNOWN, door):
        answer = door.call(world, address=f"{place}?{query}")
        assert problem(answer) == (400, "invalid_parameter"), query
    assert trace(world.house.id) == before


@ANY
def test_a_parameter_is_given_once(door: Door, world: World) -> None:
    for name in door.query:
        place = f"{door.address(world)}?{name}=1&{name}=1"
        assert problem(door.call(world, address=place)) == (400, "invalid_parameter")


def cursor(*values: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()


NOW, ID = "2026-01-01 00:00:00+00:00", str(new_id())
CURSORS = (
    "garbage",
    "%00",
    "%ff",
    "é",
    "=" * 50,
    cursor(),
    cursor(NOW),
    cursor(NOW, ID, 1),
    cursor(NOW, "x"),
    cursor("x", ID),
    cursor("2026-01-01T00:00:00", ID),  # in no time zone
    cursor("0001-01-01 00:00:00+23:59", ID),
    cursor("2026-01-01 01:00:00+01:00", ID),
    cursor("2026-01-01 00:00:00+00:00", ID.upper()),
    cursor("infinity", ID),
    cursor("\x00", "\x00"),
    cursor("9" * 5_000),
    cursor(-1, "1"),
    cursor(1e308),
    cursor({}, []),
    base64.b64encode(b"[" * 100_000).decode(),
    base64.b64encode(b"\xff\xfe").decode(),
    base64.b64encode(b'"\\ud800"').decode(),
)


@LISTS
@pytest.mark.parametrize("garbage", CURSORS, ids=lambda garbage: garbage[:20])
def test_a_cursor_of_someones_own_making_is_refused(
    door: Door, garbage: str, world: World
) -> None:
    answer = door.client(world).get(door.address(world), {"cursor": garbage})
    assert problem(answer) == (400, "invalid_cursor")


@LISTS
def test_a_cursor_from_the_edges_of_time_is_only_a_place(
    door: Door, world: World
) -> None:
    edges = ("0001-01-01 00:00:00+00:00", "9999-12-31 23:59:59.999999+00:00")
    places = [cursor(edge, ID) for edge in edges]
    if door.place.endswith(("transitions", "branches")):
        places = [cursor("9" * 40), cursor("-" + "9" * 40), cursor("0")]
    for place in places:
        answer = door.client(world).get(door.address(world), {"cursor": place})
        assert answer.status_code == 200, answer.content


@pytest.mark.parametrize(
    "limit",
    [
        "0",
        "-1",
        "201",
        "1.0",
        "1e2",
        "0x1",
        "1_0",
        " 1",
        "\uff11",
        "9" * 5_000,
        "",
        "%00",
    ],
)
@LISTS
def test_a_limit_is_a_plain_number(door: Door, limit: str, world: World) -> None:
    answer = door.client(world).get(door.address(world), {"limit": limit})
    refused(answer, "invalid_limit", "invalid_parameter")


@pytest.mark.parametrize(
    "limit", ["-1", "1.0", "1e2", "1_0", " 1", "\uff11", "9" * 5_000, "\x00"]
)
def test_a_limit_of_items_is_a_plain_number(limit: str, world: World) -> None:
    place = f"/{PREFIX}/sessions/{world.session}/items"
    answer = world.house.robot.client().get(place, {"limit": limit})
    assert problem(answer) == (400, "invalid_parameter")


@pytest.mark.parametrize(
    ("place", "query"),
    [
        ("runs", {"state": "lost"}),
        ("runs", {"state": ""}),
        ("runs", {"external_id": "\x00"}),
        ("sessions", {"external_id": ""}),
        ("approvals", {"status": "open"}),
        ("approvals", {"status": "pending\n"}),
        ("approvals", {"run": "1"}),
        ("approvals", {"run": "' OR 1=1"}),
        ("approvals/{pending}", {"wait": "-1"}),
        ("approvals/{pending}", {"wait": "1.5"}),
        ("approvals/{pending}", {"wait": "²"}),
        ("approvals/{pending}", {"wait": "1e1"}),
        ("approvals/{pending}", {"wait": ""}),
        ("approvals/{pending}", {"wait": "61"}),
        ("approvals/{pending}", {"wait": "9" * 5_000}),
        ("approvals/{pending}", {"wait": "1", "until": "never"}),
        ("approvals/{pending}", {"until": ""}),
        ("approvals/{pending}", {"until": "DONE"}),
    ],
)
def test_a_parameter_has_its_form(
    place: str, query: dict[str, str], world: World
) -> None:
    at = f"/{PREFIX}/{place.format(pending=world.pending.id)}"
    refused(world.house.robot.client().get(at, query), "invalid_parameter")


# -- Headers ----------------------------------------------------------------------------

FENCES = (
    "-1",
    "1.0",
    "abc",
    str(2**70),
    "",
    " ",
    "1, 1",
    "+1",
    "0x1",
    "1e1",
    "\uff11",
    "é",
)


@pytest.mark.parametrize(
    "door", [d for d in WRITING if d.fence], ids=lambda door: door.name
)
def test_a_fence_is_a_plain_number(door: Door, world: World) -> None:
    place = door.address(world)
    before = trace(world.house.id)
    for fence in some(FENCES, door):
        headers = {"Keyturn-Fence": fence}
        answer = door.call(world, address=place, headers=headers)
        assert problem(answer) == (400, "header_malformed"), fence
    for fence in ("0", "999999999999999999"):
        headers = {"Keyturn-Fence": fence}
        answer = door.call(world, address=place, headers=headers)
        assert problem(answer) == (409, "stale_writer"), fence
    assert trace(world.house.id) == before


NO_KEYS = ("", " ", "k" * 256, "a b", "a\tb", "a\x00b", "a\x7f", "é", "\x1b[31m")


@POSTS
def test_an_idempotency_key_is_short_and_visible(door: Door, world: World) -> None:
    place = door.address(world)
    before = trace(world.house.id)
    for key in some(NO_KEYS, door):
        headers = {"Idempotency-Key": key}
        answer = door.call(world, address=place, headers=headers)
        assert problem(answer) == (400, "idempotency_key_malformed"), key
    assert trace(world.house.id) == before


@pytest.mark.parametrize("tag", ['"-1"', "1", '"x"', '"1", "2"', "*", '"1"x', '""'])
def test_if_match_names_one_version(tag: str, world: World) -> None:
    (door,) = (d for d in WRITING if d.place.endswith("transitions"))
    answer = door.call(world, headers={"If-Match": tag})
    assert problem(answer) == (400, "header_malformed")


KINDS = (
    "",
    "text/plain",
    "text/json",
    "application/jsonx",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/merge-patch+json",
    "*/*",
    "json",
    "é",
    "application/json\x00",
    "a" * 5_000,
)


@WRITES
def test_another_content_type_is_refused_before_it_is_read(
    door: Door, world: World
) -> None:
    place = door.address(world)
    before = trace(world.house.id)
    for kind in some(KINDS, door):
        answer = door.call(world, address=place, kind=kind)
        assert problem(answer) == (415, "unsupported_media_type"), kind
    assert trace(world.house.id) == before


@POSTS
def test_a_body_beyond_the_limit_is_refused(door: Door, world: World) -> None:
    place = door.address(world)
    before = trace(world.house.id)
    huge = HUGE if "checkpoints" in place else 13 * 1024 * 1024
    body = b'{"a":"' + b"x" * huge + b'"}'
    assert problem(door.call(world, raw=body, address=place)) == (413, "body_too_large")
    assert trace(world.house.id) == before


@WRITES
def test_an_empty_body_is_an_empty_object(door: Door, world: World) -> None:
    world = world.afresh()
    answer = door.call(world, raw=b"")
    if door.optional_body:
        # It was understood; but a branch that a run is on is not everybody's.
        done = answer.status_code in {200, 201}
        assert done or problem(answer) == (409, "branch_held")
    else:
        assert problem(answer) == (400, "invalid_field")


@ANY
def test_only_json_is_spoken(door: Door, world: World) -> None:
    if door.gives_file:
        assert door.call(world, headers={"Accept": "text/html"}).status_code == 200
        return
    for accepted in ("text/html", "application/xml;q=1", "image/*"):
        answer = door.call(world, headers={"Accept": accepted})
        assert problem(answer) == (406, "not_acceptable"), accepted


KEYS = (
    "Bearer",
    "Bearer ",
    "Bearer x",
    "bearer kt_test_x_y",
    "Bearer é",
    "Bearer \x00",
    "Bearer " + "k" * 100_000,
    "Basic dXNlcjpwYXNz",
    "kt_test",
    "",
    "Bearer kt_live_0000000_" + "0" * 36,
)


@ANY
def test_a_garbled_credential_proves_nothing(door: Door, world: World) -> None:
    place, fenced = door.address(world), door.fenced(world)
    before = trace(world.house.id)
    for key in some(KEYS, door):
        answer = door.call(
            world, Client(headers={"Authorization": key}), address=place, headers=fenced
        )
        if door.who == "member":
            assert problem(answer) == (403, "agents_cannot_decide"), key
        else:
            status, code = problem(answer)
            assert (status, code in {"key_invalid", "not_authenticated"}) == (401, True)
            assert answer["WWW-Authenticate"].startswith("Bearer")
    assert trace(world.house.id) == before


def test_a_host_that_is_not_ours_is_a_problem(world: World) -> None:
    client = world.house.robot.client(Host="evil.example")
    assert problem(client.get(f"/{PREFIX}/runs")) == (400, "bad_request")
