"""The agents' door to checkpoints and effects."""

import base64
from typing import Any

import pytest

from kernel.ids import new_id
from sessions.models import Run
from tenants.principal import Principal
from tests.api import Api
from tests.checkpoints.steps import managed_tool, report, start
from tests.checkpoints.tampering import tamper
from tests.factories import House, fresh_agent, fresh_house
from tests.sessions.test_api import code, said


@pytest.fixture
def api(house: House) -> Api:
    return Api.of(house.robot)


def body(parent: int | None = None, **change: Any) -> dict[str, Any]:
    fields = {"parent": parent, "schema_version": 1, "payload": '{"a": 1}'}
    return {**fields, "header": {"completed": ["read"]}, **change}


def test_a_checkpoint_is_saved_and_read(api: Api, run: Run) -> None:
    path = f"runs/{run.id}/checkpoints"
    first = said(api.post(path, body(), fence=1), 201)
    second = said(api.post(path, body(1, payload="later"), fence=1), 201)
    head = said(api.get(f"{path}/head"))

    assert (first["number"], first["parent"], second["parent"]) == (1, None, 1)
    assert head == {
        **second,
        "run": str(run.id),
        "schema_version": 1,
        "header": {"completed": ["read"]},
        "closes": [],
        "payload": "later",
        "payload_encoding": "text",
    }
    assert said(api.get(f"{path}/1"))["payload"] == '{"a": 1}'
    shown = said(api.get(f"runs/{run.id}"))["head"]
    assert shown == {"number": 2, "digest": second["digest"]}
    stale = api.post(path, body(1), fence=1)
    assert code(stale) == (409, "stale_checkpoint")
    assert stale.json()["head"] == 2


@pytest.mark.parametrize("payload", [bytes(range(256)), b"\x00", b"\xff\xfe"])
def test_bytes_that_are_no_text_travel_as_base64(
    api: Api, run: Run, payload: bytes
) -> None:
    path = f"runs/{run.id}/checkpoints"
    encoded = base64.b64encode(payload).decode()
    sent = body(payload=encoded, payload_encoding="base64")
    said(api.post(path, sent, fence=1), 201)
    head = said(api.get(f"{path}/head"))
    assert (head["payload"], head["payload_encoding"]) == (encoded, "base64")


def test_text_is_kept_as_it_is(api: Api, run: Run) -> None:
    path = f"runs/{run.id}/checkpoints"
    text = " \n{}\ufeff\u202e\U0001f511 \r\n"
    said(api.post(path, body(payload=text), fence=1), 201)
    head = said(api.get(f"{path}/head"))
    assert (head["payload"], head["payload_encoding"]) == (text, "text")


@pytest.mark.parametrize(
    ("change", "expected", "pointer"),
    [
        ({"payload": "é", "payload_encoding": "base64"}, 400, "/payload"),
        ({"payload": "YQ", "payload_encoding": "base64"}, 400, "/payload"),
        ({"payload": {}}, 400, "/payload"),
        ({"parent": 0}, 400, "/parent"),
        ({"parent": True}, 400, "/parent"),
        ({"schema_version": "1"}, 400, "/schema_version"),
        ({"header": {"done": []}}, 400, "/header/done"),
        ({"header": []}, 400, "/header"),
        ({"number": 1}, 400, "/number"),
    ],
)
def test_a_malformed_checkpoint_is_refused_at_its_place(
    api: Api, run: Run, change: dict[str, Any], expected: int, pointer: str
) -> None:
    answer = api.post(f"runs/{run.id}/checkpoints", body(**change), fence=1)
    assert code(answer)[0] == expected
    assert answer.json()["pointer"] == pointer


ASK = {"tool": "pay", "arguments": {}}


def test_bytes_up_to_the_limit_come_back_as_they_were(api: Api, run: Run) -> None:
    """As base64, since no UTF-8 holds them; one byte more is refused."""
    path = f"runs/{run.id}/checkpoints"
    most = 8 * 1024 * 1024
    payload = (bytes(range(256)) * (most // 256))[::-1]
    encoded = base64.b64encode(payload).decode()
    said(api.post(path, body(payload=encoded, payload_encoding="base64"), fence=1), 201)
    head = said(api.get(f"{path}/head"))
    assert hash(head["payload"]) == hash(encoded)
    more = base64.b64encode(payload + b"x").decode()
    large = api.post(path, body(1, payload=more, payload_encoding="base64"), fence=1)
    assert code(large) == (413, "payload_too_large")
    assert large.json()["pointer"] == "/payload"


def test_a_large_payload_fits_and_a_larger_one_does_not(api: Api, run: Run) -> None:
    path = f"runs/{run.id}/checkpoints"
    most = 8 * 1024 * 1024
    said(api.post(path, body(payload="x" * most), fence=1), 201)
    assert len(said(api.get(f"{path}/head"))["payload"]) == most
    large = api.post(path, body(1, payload="x" * (most + 1)), fence=1)
    assert code(large) == (413, "payload_too_large")
    assert large.json()["pointer"] == "/payload"
    pause = {"checkpoint": body(1, payload="x" * (most + 1)), "requests": [ASK]}
    paused = api.post(f"runs/{run.id}/pause", pause, fence=1)
    assert code(paused) == (413, "payload_too_large")
    assert paused.json()["pointer"] == "/checkpoint/payload"
    huge = api.post(path, body(1, payload="x" * most * 2), fence=1)
    assert code(huge) == (413, "body_too_large")


def test_a_corrupted_checkpoint_is_not_handed_out(api: Api, run: Run) -> None:
    path = f"runs/{run.id}/checkpoints"
    saved = said(api.post(path, body(), fence=1), 201)
    tamper("checkpoints_checkpoint", "payload = 'paid = true'", saved["id"])
    answer = api.get(f"{path}/head")
    assert code(answer) == (409, "checkpoint_corrupted")
    assert "paid" not in answer.content.decode()
    assert said(api.get(f"runs/{run.id}"))["state"] == "needs_attention"


@pytest.mark.parametrize("number", ["0", "-1", "01", "2", "9" * 30, "tail"])
def test_what_is_no_checkpoint_of_the_run_is_not_found(
    api: Api, run: Run, number: str
) -> None:
    said(api.post(f"runs/{run.id}/checkpoints", body(), fence=1), 201)
    answer = api.get(f"runs/{run.id}/checkpoints/{number}")
    assert code(answer) == (404, "not_found")


def test_an_effect_is_read_with_its_attempts(
    api: Api, house: House, who: Principal, run: Run
) -> None:
    effect = start(who, run, managed_tool(house))
    report(who, effect, "confirmed", "CR-771", evidence={"secret": "kept from agents"})
    read = said(api.get(f"effects/{effect.id}"))

    assert read["arguments"] == {"invoice": "INV-1042"}
    assert (read["state"], read["external_id"]) == ("confirmed", "CR-771")
    assert read["idempotency_key"] == bytes(effect.key).hex()
    assert (read["run"], read["tool"]) == (str(run.id), "erp.correct")
    ((attempt),) = read["attempts"]
    assert (attempt["number"], attempt["outcome"]) == (1, "confirmed")


def test_a_strangers_effect_is_as_if_there_were_none(
    house: House, who: Principal, run: Run
) -> None:
    effect = start(who, run, managed_tool(house))
    for stranger in (
        Api.of(fresh_agent(house.alice, name="other")),
        Api.of(fresh_house().robot),
    ):
        theirs = stranger.get(f"effects/{effect.id}")
        nobodys = stranger.get(f"effects/{new_id()}")
        assert code(theirs) == (404, "not_found")
        assert theirs.content == nobodys.content
