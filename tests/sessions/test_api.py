"""The agents' door: what is read and what is refused."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kernel.ids import new_id
from sessions.hooks import hooks
from sessions.models import Run, Session
from sessions.services import define_workflow
from tests.api import Answer, Api
from tests.factories import House, fresh_key


@pytest.fixture
def api(house: House) -> Api:
    return Api.of(house.robot)


@pytest.fixture
def session_id(session: Session) -> str:
    return str(session.id)


@pytest.fixture
def run_id(run: Run) -> str:
    return str(run.id)


def said(answer: Answer, status: int = 200) -> Any:
    assert answer.status_code == status, answer.content
    return answer.json()


def code(answer: Answer) -> tuple[int, str]:
    document = answer.json()
    assert answer["Content-Type"] == "application/problem+json"
    assert document["status"] == answer.status_code
    return answer.status_code, document["code"]


def test_a_session_is_opened_read_and_found(api: Api) -> None:
    body = {"subject": "customer-7", "title": " INV-1042 ", "external_id": "TASK-1842"}
    opened = said(api.post("sessions", body), 201)

    assert opened == {**body, "id": opened["id"], "state": "open"} | {
        "created_at": opened["created_at"]
    }
    assert said(api.get(f"sessions/{opened['id']}")) == opened
    api.post("sessions", {"subject": "customer-8"})
    listed = said(api.get("sessions", external_id="TASK-1842"))
    assert listed == {"items": [opened], "next": None}
    assert said(api.post("sessions", body), 201)["id"] == opened["id"]


def test_a_session_waits_while_one_of_its_runs_does(
    api: Api, house: House, session_id: str, run: Run
) -> None:
    from tests.sessions.test_runs import move

    move(house.robot.principal, run, "paused")
    assert said(api.get(f"sessions/{session_id}"))["state"] == "waiting"
    (listed,) = said(api.get("sessions"))["items"]
    assert listed["state"] == "waiting"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/subject"),
        ({"subject": ""}, "/subject"),
        ({"subject": 7}, "/subject"),
        ({"subject": "x" * 256}, "/subject"),
        ({"subject": "x", "state": "open"}, "/state"),
        ({"subject": "x", "title": "x" * 201}, "/title"),
    ],
)
def test_a_malformed_session_is_refused_at_its_place(
    api: Api, body: Any, pointer: str
) -> None:
    answer = api.post("sessions", body)
    assert (answer.status_code, answer.json()["pointer"]) == (400, pointer)


def test_items_come_back_as_the_very_bytes_that_were_sent(
    api: Api, session_id: str, run: Run
) -> None:
    items = [
        '{"b":1,  "a": 2, "a": 3}',
        r'{"t": "\u0000\ud800 é", "n": -1e400, "i": ' + "9" * 5_000 + "}",
        "[]",
        "null",
        '"]}"',
    ]
    body = f' {{ "run" : "{run.id}",\n "items" : [ {" ,\t".join(items)} ] }} '
    added = said(api.post(f"sessions/{session_id}/items", body.encode(), fence=1), 201)
    assert [one["position"] for one in added["items"]] == [1, 2, 3, 4, 5]

    text = api.get(f"sessions/{session_id}/items").content.decode()
    for item in items:
        assert f'"data":{item}}}' in text
    sys_limited = api.get(f"sessions/{session_id}/items", limit=2).json()
    assert [one["data"] for one in sys_limited["items"]] == [None, "]}"]
    assert [one["position"] for one in sys_limited["items"]] == [4, 5]
    assert sys_limited["more"] is True
    none = api.get(f"sessions/{session_id}/items", limit=0).json()
    assert none == {"items": [], "more": True}
    everything = api.get(f"sessions/{session_id}/items", limit=2**31 - 1).content
    assert everything.decode() == text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"items": [{"a": NaN}]}', "json.syntax"),
        (b'{"items": [{"a": 1}', "json.syntax"),
        (b'{"items": [1,]}', "json.syntax"),
        (b'{"items": [1 2]}', "json.syntax"),
        (b'{"items": [1]} x', "json.syntax"),
        (b'{"items" [1]}', "json.syntax"),
        (b"{items: [1]}", "json.syntax"),
        (b" ", "json.syntax"),
        (b'{"items": ["\x01"]}', "json.syntax"),
        (b'{"items": ["\xff"]}', "json.encoding"),
        (b'{"items": [1], "items": [2]}', "json.duplicate_key"),
        (b'{"items": [1], "run": "\\ud800"}', "json.surrogate"),
        (b'{"items": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}", "json.depth"),
        (b'{"items": {"a": 1}}', "wrong_type"),
        (b"[1]", "wrong_type"),
        (b'{"items": [1], "more": 1}', "unknown_field"),
        (b'{"items": [' + b"1," * 1_000 + b"1]}", "invalid_field"),
    ],
)
def test_what_is_no_list_of_items_is_refused(
    api: Api, session_id: str, body: bytes, expected: str
) -> None:
    answer = api.post(f"sessions/{session_id}/items", body)
    assert code(answer) == (400, expected)
    assert said(api.get(f"sessions/{session_id}/items"))["items"] == []


def test_too_many_bytes_of_items_are_refused(api: Api, session_id: str) -> None:
    body = b'{"items": ["' + b"x" * (4 * 1024 * 1024) + b'"]}'
    answer = api.post(f"sessions/{session_id}/items", body)
    assert code(answer) == (413, "body_too_large")


def test_items_are_added_once_under_one_key(api: Api, session_id: str) -> None:
    path = f"sessions/{session_id}/items"
    first = api.post(path, '{"items": [1]}', Idempotency_Key="k1")
    again = api.post(path, '{"items": [1]}', Idempotency_Key="k1")

    assert again.content == first.content
    assert again["Idempotent-Replay"] == "true"
    assert code(api.post(path, '{"items": [ 1]}', Idempotency_Key="k1")) == (
        422,
        "idempotency_mismatch",
    )
    assert len(said(api.get(path))["items"]) == 1


def test_a_run_is_started_claimed_and_read(api: Api, session_id: str) -> None:
    started = said(api.post(f"sessions/{session_id}/runs", {"external_id": "T"}), 201)
    again = said(api.post(f"sessions/{session_id}/runs", {"external_id": "T"}), 200)
    claimed = said(api.post(f"runs/{started['id']}/claim", {"lease_seconds": 30}))
    read = api.get(f"runs/{started['id']}")

    assert (started["fence"], again["fence"], claimed["fence"]) == (1, 1, 2)
    assert said(read) == claimed
    assert read["ETag"] == '"0"'
    assert claimed == {
        "id": started["id"],
        "session": session_id,
        "state": "running",
        "workflow": "default",
        "workflow_version": 1,
        "stage": "",
        "branch": 0,
        "external_id": "T",
        "fence": 2,
        "lease_until": claimed["lease_until"],
        "head": None,
        "version": 0,
        "reason": "",
        "result": None,
        "asks_only": False,
        "created_at": started["created_at"],
        "ended_at": None,
        "facts": {},
        "open_requests": [],
    }


def test_runs_are_listed_by_state_and_external_id(api: Api, session_id: str) -> None:
    path = f"sessions/{session_id}/runs"
    first = said(api.post(path, {"external_id": "A"}), 201)
    second = said(api.post(path, {"external_id": "B"}), 201)
    said(api.post(f"runs/{first['id']}/complete", fence=1))

    def ids(**query: Any) -> list[str]:
        return [one["id"] for one in said(api.get("runs", **query))["items"]]

    assert ids() == [second["id"], first["id"]]
    assert ids(state="running") == [second["id"]]
    assert ids(external_id="A") == [first["id"]]
    page = said(api.get("runs", limit=1))
    assert ids(limit=1, cursor=page["next"]) == [first["id"]]
    assert code(api.get("runs", state="lost"))[0] == 400
    assert code(api.get("runs", order_by="fence"))[0] == 400


def test_facts_are_recorded_against_the_version_that_was_read(
    api: Api, house: House, run_id: str
) -> None:
    path = f"runs/{run_id}/transitions"
    fact = {"value": True, "provenance": "tool", "reference": "validate#4"}
    fact["evidence_digest"] = "9f3c"
    body = {"facts": {"po_matched": fact}, "reason": "compared"}
    recorded = said(api.post(path, {**body, "expected_version": 0}, fence=1), 201)
    matched = said(api.post(path, body, fence=1, If_Match='"1"'), 201)

    assert (recorded, matched["version"]) == ({"version": 1, "seq": 2}, 2)
    stale = api.post(path, body, fence=1, If_Match='"1"')
    assert code(stale) == (409, "stale_version")
    assert stale.json()["version"] == 2
    shown = said(api.get(f"runs/{run_id}"))["facts"]["po_matched"]
    assert (shown["value"], shown["provenance"], shown["version"]) == (True, "tool", 2)
    assert 0 <= shown["age_seconds"] < 30
    history = said(api.get(path))["items"]
    assert [one["seq"] for one in history] == [1, 2, 3]
    assert history[1]["changes"]["po_matched"]["to"] is True
    assert history[1]["actor"] == {"type": "agent", "id": str(house.robot.agent.id)}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"expected_version": None}, (428, "version_required")),
        ({"facts": {"Bad Name": {"value": 1, "provenance": "tool"}}}, (400, None)),
        ({"facts": {"a": {"value": 1, "provenance": "reviewer"}}}, (400, None)),
        ({"facts": {"a": {"value": 1, "provenance": "tool", "x": 1}}}, (400, None)),
        ({"facts": {"a": {"provenance": "tool"}}}, (400, None)),
        ({"facts": {"a": 1}}, (400, "wrong_type")),
        ({"facts": {}}, (422, "nothing_to_record")),
        ({"reason": None}, (400, None)),
    ],
)
def test_a_malformed_transition_is_refused(
    api: Api, run_id: str, change: dict[str, Any], expected: tuple[int, str | None]
) -> None:
    fact = {"value": 1, "provenance": "model"}
    body = {"expected_version": 0, "facts": {"a": fact}, "reason": "r", **change}
    body = {name: value for name, value in body.items() if value is not None}
    status, why = code(api.post(f"runs/{run_id}/transitions", body, fence=1))
    assert status == expected[0]
    assert expected[1] in {None, why}


def test_two_versions_that_differ_are_no_version(api: Api, run_id: str) -> None:
    body = {"expected_version": 0, "stage": "x", "reason": "r"}
    answer = api.post(f"runs/{run_id}/transitions", body, fence=1, If_Match='"1"')
    assert code(answer) == (428, "version_required")


WRITES: dict[str, tuple[str, Any]] = {
    "heartbeat": ("heartbeat", {}),
    "complete": ("complete", {"result": {"external_id": "CR-771"}}),
    "fail": ("fail", {"reason": "no"}),
    "cancel": ("cancel", {"reason": "no"}),
    "transitions": (
        "transitions",
        {
            "expected_version": 0,
            "reason": "r",
            "facts": {"a": {"value": 1, "provenance": "model"}},
        },
    ),
    "checkpoints": (
        "checkpoints",
        {"parent": None, "schema_version": 1, "payload": "{}"},
    ),
}


@pytest.mark.parametrize("write", WRITES)
def test_every_write_of_a_run_shows_its_fence(
    api: Api, run_id: str, write: str
) -> None:
    verb, body = WRITES[write]
    path = f"runs/{run_id}/{verb}"

    assert code(api.post(path, body)) == (428, "fence_required")
    assert code(api.post(path, body, Keyturn_Fence="one")) == (400, "header_malformed")
    assert code(api.post(path, body, fence=2)) == (409, "stale_writer")
    assert api.post(path, body, fence=1).status_code in {200, 201}


@pytest.mark.parametrize("write", ["complete", "fail", "cancel"])
def test_a_run_ends_once(api: Api, run_id: str, write: str) -> None:
    verb, body = WRITES[write]
    ended = said(api.post(f"runs/{run_id}/{verb}", body, fence=1, Idempotency_Key="e"))
    assert ended["ended_at"] is not None
    again = api.post(f"runs/{run_id}/{verb}", body, fence=1, Idempotency_Key="e")
    assert said(again) == ended
    other = api.post(f"runs/{run_id}/{verb}", body, fence=1)
    assert code(other) == (409, "run_ended")


@pytest.fixture
def extended() -> Iterator[None]:
    before = hooks.open_requests, hooks.closing
    yield
    hooks.open_requests, hooks.closing = before


@pytest.mark.usefixtures("extended")
def test_a_run_says_what_it_waits_for_and_closes_it_when_it_ends(
    api: Api, house: House, run: Run
) -> None:
    from tests.sessions.test_runs import move

    request, closed = new_id(), []
    hooks.open_requests = lambda ids: {id: {request: "pending"} for id in ids}
    hooks.closing = None
    move(house.robot.principal, run, "paused")
    assert said(api.get(f"runs/{run.id}"))["open_requests"] == [str(request)]
    body = {"reason": "not wanted"}
    refused = api.post(f"runs/{run.id}/cancel", body, fence=1)
    assert code(refused) == (409, "pause_open")
    hooks.closing = lambda verb, paused: closed.append(paused.id)
    assert (
        said(api.post(f"runs/{run.id}/cancel", body, fence=1))["state"] == "cancelled"
    )
    assert closed == [run.id]


def test_a_key_without_the_scope_reads_and_does_not_write(
    house: House, session_id: str
) -> None:
    reader = Api.of(fresh_key(house.alice, house.robot.agent, scopes=["read"]))
    assert said(reader.get(f"sessions/{session_id}"))["id"] == session_id
    assert code(reader.post("sessions", {"subject": "x"})) == (403, "scope_missing")


@pytest.mark.parametrize("path", ["sessions", "runs"])
def test_a_list_costs_the_same_however_long_it_is(
    api: Api, house: House, path: str
) -> None:
    def opened() -> int:
        session = said(api.post("sessions", {"subject": "x"}), 201)["id"]
        said(api.post(f"sessions/{session}/runs"), 201)
        with CaptureQueriesContext(connection) as queries:
            said(api.get(path))
        return len(queries)

    first = opened()
    assert [opened() for _ in range(3)] == [first] * 3


def test_a_workflow_is_chosen_by_its_kind(
    api: Api, house: House, session_id: str
) -> None:
    definition = {"stages": {"reading": []}, "initial": "reading"}
    define_workflow(
        tenant_id=house.id, by=house.alice.id, kind="invoice", definition=definition
    )
    path = f"sessions/{session_id}/runs"
    started = said(api.post(path, {"workflow": "invoice"}), 201)
    assert (started["workflow"], started["stage"]) == ("invoice", "reading")
    unknown = api.post(path, {"workflow": "holiday"})
    assert code(unknown) == (422, "workflow_unknown")
    assert unknown.json()["pointer"] == "/workflow"


def test_the_schema_describes_every_operation_once(api: Api) -> None:
    from drf_spectacular.generators import SchemaGenerator

    schema = SchemaGenerator().get_schema(public=True)
    operations = [
        operation["operationId"]
        for path, methods in schema["paths"].items()
        for operation in methods.values()
        if path.startswith(("/api/v1/sessions", "/api/v1/runs"))
    ]
    assert len(operations) == len(set(operations))
    assert {"open_session", "start_run", "save_checkpoint"} <= set(operations)
    assert json.dumps(schema)
