"""What is refused before anybody is asked, and in which words."""

import json
from typing import Any

import pytest
from django.test import Client

from approvals.models import AAPRequest, Request
from checkpoints.models import Attempt, Effect
from kernel.scope import tenant_transaction
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.checkpoints.tampering import tamper
from tests.concurrency import together
from tests.factories import unique

PLACE = "/api/aap/v1/requests"


@pytest.fixture(scope="module")
def stage() -> Stage:
    return fresh_stage()


def post(stage: Stage, body: str | bytes, path: str = PLACE, **headers: str) -> Any:
    sent = {"Idempotency-Key": unique(), **headers}
    return stage.house.robot.client().generic(
        "POST", path, body, content_type="application/json", headers=sent
    )


def submission(**more: Any) -> dict[str, Any]:
    return {"tool": "pay", "arguments": ARGUMENTS, "timeout": "10m", **more}


BAD = [
    (json.dumps(submission(extra=1)), "/extra"),
    (json.dumps(submission(server=None)), "/server"),
    (json.dumps(submission(context=None)), "/context"),
    (json.dumps(submission(context=[])), "/context"),
    (json.dumps(submission(tool="")), "/tool"),
    (json.dumps(submission(timeout="0s")), "/timeout"),
    (json.dumps(submission(timeout="10 m")), "/timeout"),
    (json.dumps({"tool": "pay", "timeout": "10m"}), "/arguments"),
    (json.dumps(submission(arguments=[])), "/arguments"),
    ('{"tool":"pay","tool":"x","arguments":{},"timeout":"1m"}', None),
    ('{"tool":"pay","arguments":{"a":1,"a":2},"timeout":"1m"}', None),
    ('{"tool":"pay","arguments":{"a":1e400},"timeout":"1m"}', None),
    ('{"tool":"pay","arguments":{"a":"\\u0000"},"timeout":"1m"}', None),
    ('{"tool":"pay","arguments":{},"timeout":"1m","context":{"a":NaN}}', None),
    ('{"tool":"pay","arguments":{},"timeout":"1m",}', None),
    ('{"tool":"pay"} {}', None),
    ("[]", None),
    ("{", None),
    ("", None),
    (b"\xff", None),
]


@pytest.mark.parametrize(("body", "param"), BAD)
def test_a_submission_that_is_none(
    stage: Stage, body: str | bytes, param: str | None
) -> None:
    answer = post(stage, body)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (400, "invalid_request")
    assert error["request_id"] == answer.headers["X-Request-ID"]
    if param is not None:
        assert error["param"] == param
    with tenant_transaction(stage.tenant_id):
        assert not AAPRequest.objects.filter(timeout="1m").exists()


def test_what_came_is_returned_to_the_byte(stage: Stage) -> None:
    context = '{"big": 1180591620717411303424, "x": 0.10, "n": "\\u0000", "b":[1.0]}'
    body = json.dumps(submission())[:-1] + f', "context" : {context} ' + "}"
    answer = post(stage, body)
    assert answer.status_code == 201, answer.content
    assert context in answer.content.decode()
    told = answer.json()
    assert told["timeout"] == "10m"
    assert told["created_at"].endswith("Z")
    assert set(told) == {
        *("id", "tool", "arguments", "timeout", "status", "created_at"),
        *("deadline_at", "context"),
    }


def test_a_key_is_needed_and_is_for_one_submission(stage: Stage) -> None:
    client = stage.house.robot.client()
    missing = client.post(PLACE, submission(), content_type="application/json")
    assert missing.json()["error"]["code"] == "missing_idempotency_key"
    key = unique()
    first = post(stage, json.dumps(submission()), **{"Idempotency-Key": key})
    spaced = json.dumps(dict(reversed(submission().items())), indent=2)
    again = post(stage, spaced, **{"Idempotency-Key": key})
    assert (again.status_code, again.json()) == (200, first.json())
    other = post(
        stage, json.dumps(submission(timeout="600s")), **{"Idempotency-Key": key}
    )
    assert (other.status_code, other.json()["error"]["code"]) == (
        409,
        "idempotency_conflict",
    )


def test_of_eight_with_one_key_one_asks_and_nobody_fails(stage: Stage) -> None:
    key, body = unique(), json.dumps(submission())
    post(stage, body)  # The first of a tenant closes its gate; later ones run abreast.
    send = lambda: post(stage, body, **{"Idempotency-Key": key})  # noqa: E731
    answers = together(*[send] * 8)
    statuses = sorted(one.status_code for one in answers)
    assert set(statuses) <= {200, 201, 503}, statuses
    assert statuses.count(201) == 1
    for one in answers:
        if one.status_code == 503:
            assert one.json()["error"]["code"] == "busy"
            assert one.headers["Retry-After"]
    again = post(stage, body, **{"Idempotency-Key": key})
    ids = {one.json()["id"] for one in answers if one.status_code < 300}
    assert (again.status_code, ids) == (200, {again.json()["id"]})


def test_conflicts_have_the_protocols_codes(stage: Stage) -> None:
    id = post(stage, json.dumps(submission())).json()["id"]
    place = f"{PLACE}/{id}"
    outcome = json.dumps({"status": "failed"})
    early = post(stage, outcome, f"{place}/outcome")
    assert early.json()["error"]["code"] == "not_consumed"
    undecided = post(stage, "", f"{place}/consume")
    assert undecided.json()["error"]["code"] == "not_approved"
    with tenant_transaction(stage.tenant_id):
        request = Request.objects.get(id=id)
    stage.answer(request)
    late = stage.house.robot.client().delete(place)
    assert (late.status_code, late.json()["error"]["code"]) == (409, "already_terminal")
    used = post(stage, "", f"{place}/consume")
    assert used.status_code == 200
    twice = post(stage, "", f"{place}/consume")
    assert twice.json()["error"]["code"] == "already_consumed"
    assert post(stage, outcome, f"{place}/outcome").status_code == 200
    other = json.dumps({"status": "succeeded"})
    assert (
        post(stage, other, f"{place}/outcome").json()["error"]["code"]
        == "outcome_conflict"
    )


def consumed(stage: Stage, key: str) -> str:
    """The place of a submission that was approved, and used with this key."""
    place = f"{PLACE}/{post(stage, json.dumps(submission())).json()['id']}"
    with tenant_transaction(stage.tenant_id):
        request = Request.objects.get(id=place.rpartition("/")[2])
    stage.answer(request)
    used = post(stage, "", f"{place}/consume", **{"Idempotency-Key": key})
    assert used.status_code == 200, used.content
    return place


PASSED = "send_before = now() - interval '1 second'"


@pytest.mark.parametrize(
    ("table", "change", "code"),
    [
        ("checkpoints_effect", "state = 'absent'", "not_approved"),
        ("checkpoints_effect", "state = 'unknown'", "not_approved"),
        ("checkpoints_attempt", PASSED, "approval_expired"),
    ],
)
def test_a_lost_answer_is_repeated_only_while_it_still_lets_one_act(
    stage: Stage, table: str, change: str, code: str
) -> None:
    key = unique()
    place = consumed(stage, key)
    with tenant_transaction(stage.tenant_id):
        effect = Effect.objects.get(request=place.rpartition("/")[2])
        attempt = Attempt.objects.get(effect=effect)
    row = effect.id if table == "checkpoints_effect" else attempt.id
    tamper(table, change, row)
    again = post(stage, "", f"{place}/consume", **{"Idempotency-Key": key})
    assert (again.status_code, again.json()["error"]["code"]) == (409, code)


def test_what_came_of_it_does_not_change_the_repeated_answer(stage: Stage) -> None:
    key = unique()
    place = consumed(stage, key)
    outcome = json.dumps({"status": "succeeded"})
    assert post(stage, outcome, f"{place}/outcome").status_code == 200
    again = post(stage, "", f"{place}/consume", **{"Idempotency-Key": key})
    assert again.status_code == 200, again.content
    assert again.json()["consumption"]["outcome"]["status"] == "succeeded"


def test_who_asks_and_how(stage: Stage) -> None:
    assert Client().post(PLACE).json()["error"]["type"] == "authentication"
    client = stage.house.robot.client()
    assert client.get(PLACE).status_code == 405
    assert client.get(f"{PLACE}?wait=5s").status_code == 405
    id = post(stage, json.dumps(submission())).json()["id"]
    for wish in ("5", "0s", "1.5s", "soon"):
        assert client.get(f"{PLACE}/{id}?wait={wish}").status_code == 400
    assert client.get(f"{PLACE}/{id}?until=done").status_code == 400
    assert client.get(f"{PLACE}/{id}?wait=1s").json()["status"] == "pending"
