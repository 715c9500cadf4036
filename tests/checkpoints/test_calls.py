"""What a call to a real tool comes to, and what the tool then says of the key."""

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from checkpoints.models import Tool
from checkpoints.services import register_tool
from checkpoints.tools import ToolOutcome, ToolStatus, ask_status, call
from kernel.ids import new_id
from tests.checkpoints.toolserver import ToolServer
from tests.factories import House, unique

KEY = bytes(range(32))
ARGUMENTS: dict[str, Any] = {"b": 1.0, "a": ["é", {"z": None}]}


def tool(house: House, server: ToolServer, habit: str, **terms: Any) -> Tool:
    definition = {
        "url": f"{server.url}/{habit}",
        "status_url": f"{server.url}/status/{{key}}",
        "timeout": 2,
        **terms,
    }
    return register_tool(
        tenant_id=house.id,
        by=house.alice.id,
        name=f"erp.{unique()}",
        mode="managed",
        risk="high",
        definition=definition,
    )


def called(at: Tool, **more: Any) -> ToolOutcome:
    return call(
        at,
        key=KEY,
        effect_id=new_id(),
        attempt=2,
        fence=7,
        not_after=datetime(2026, 11, 30, 12, tzinfo=UTC),
        arguments=ARGUMENTS,
        **more,
    )


def asked(at: Tool) -> ToolStatus:
    return ask_status(at, key=KEY)


def test_a_tool_that_acted_confirms_with_its_own_id(
    house: House, toolserver: ToolServer
) -> None:
    outcome = called(tool(house, toolserver, "confirm"))
    assert (outcome.state, outcome.external_id) == ("confirmed", "CR-771")
    assert outcome.evidence["status"] == 201


def test_the_tool_is_told_everything_it_needs_to_act_once(
    house: House, toolserver: ToolServer
) -> None:
    called(tool(house, toolserver, "confirm"))
    ((method, path, headers, body),) = toolserver.requests

    assert (method, path) == ("POST", "/confirm")
    assert body.decode() == '{"a":["é",{"z":null}],"b":1}'
    assert headers["Content-Type"] == "application/json"
    assert headers["Idempotency-Key"] == KEY.hex()
    assert (headers["Keyturn-Attempt"], headers["Keyturn-Fence"]) == ("2", "7")
    assert headers["Keyturn-Not-After"] == "2026-11-30T12:00:00.000Z"
    assert len(headers["Keyturn-Effect"]) == 36


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (200, "confirmed"),
        (204, "confirmed"),
        (301, "unknown"),
        (307, "unknown"),
        (400, "failed"),
        (401, "failed"),
        (404, "failed"),
        (408, "unknown"),
        (409, "unknown"),
        (422, "failed"),
        (425, "unknown"),
        (429, "unknown"),
        (500, "unknown"),
        (503, "unknown"),
    ],
)
def test_only_a_clear_answer_is_believed(
    house: House, toolserver: ToolServer, status: int, state: str
) -> None:
    outcome = called(tool(house, toolserver, f"say/{status}"))
    assert outcome.state == state
    assert outcome.evidence["status"] == status


@pytest.mark.parametrize("habit", ["hang", "reset", "cut", "drip", "huge/2000000"])
def test_acted_but_not_answered_is_unknown_and_the_status_tells(
    house: House, toolserver: ToolServer, habit: str
) -> None:
    at = tool(house, toolserver, habit, timeout=1)
    outcome = called(at)

    assert outcome.state == "unknown"
    assert outcome.evidence["sent"] is True
    assert len(toolserver.acted) == 1
    status = asked(at)
    assert (status.state, status.external_id) == ("confirmed", "CR-771")


def test_a_second_send_of_the_same_key_is_no_second_effect(
    house: House, toolserver: ToolServer
) -> None:
    at = tool(house, toolserver, "confirm")
    assert called(at).external_id == called(at).external_id == "CR-771"
    assert len(toolserver.acted) == 1


@pytest.mark.parametrize(
    ("answer", "external_id"),
    [
        ({"external_id": 771}, "771"),
        ({"external_id": True}, ""),
        ({"external_id": {"a": 1}}, ""),
        ({"external_id": "x" * 300}, "x" * 255),
        (["external_id"], ""),
        ({}, ""),
    ],
)
def test_an_external_id_is_kept_if_it_is_one(
    house: House, toolserver: ToolServer, answer: Any, external_id: str
) -> None:
    body = json.dumps(answer).encode().hex()
    outcome = called(tool(house, toolserver, f"raw/{body}"))
    assert (outcome.state, outcome.external_id) == ("confirmed", external_id)


def test_bytes_that_are_no_json_are_no_harm(
    house: House, toolserver: ToolServer
) -> None:
    outcome = called(tool(house, toolserver, f"raw/{b'OK \x00\xff'.hex()}"))
    assert (outcome.state, outcome.external_id) == ("confirmed", "")
    assert outcome.evidence["body"] == "OK \ufffd\ufffd"


def test_what_never_left_us_is_absent(house: House, toolserver: ToolServer) -> None:
    late = called(tool(house, toolserver, "confirm"), start_by=time.monotonic())
    assert (late.state, late.evidence["code"]) == ("absent", "too_late")

    private = tool(house, toolserver, "x", url="http://10.0.0.1/")
    refused = called(private)
    assert (refused.state, refused.evidence["code"]) == ("absent", "address_refused")
    assert toolserver.requests == []


def test_a_tool_that_never_heard_of_the_key_says_so(
    house: House, toolserver: ToolServer
) -> None:
    before = time.monotonic()
    status = asked(tool(house, toolserver, "confirm"))
    assert status.state == "absent"
    assert before <= status.asked <= time.monotonic()


@pytest.mark.parametrize(
    "status_url", ["say/500#{key}", "say/200?{key}", "hang/{key}", "redirect/{key}"]
)
def test_a_status_that_proves_nothing_is_unproved(
    house: House, toolserver: ToolServer, status_url: str
) -> None:
    url = f"{toolserver.url}/{status_url}"
    at = tool(house, toolserver, "confirm", status_url=url, timeout=1)
    assert asked(at).state == "unproved"


def test_without_a_status_there_is_nothing_to_ask(
    house: House, toolserver: ToolServer
) -> None:
    at = tool(house, toolserver, "confirm")
    del at.definition["status_url"]
    assert asked(at).state == "unproved"
    assert toolserver.requests == []
