"""The external system acts once per key, keeps its word over a kill, and fails to order.

A real process on a real port each time.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.examples.correction_process import CorrectionProcess
from tests.examples.waiting import wait_until

BODY = {"invoice_id": "INV-1042", "amount_delta": "-1240.00"}


def ask(
    corrections: CorrectionProcess,
    key: str = "k1",
    *,
    fence: int = 1,
    body: Any = BODY,
    kind: str = "corrections",
    timeout: float = 10.0,
) -> httpx.Response:
    headers = {"Idempotency-Key": key, "Keyturn-Fence": str(fence)}
    with corrections.client(timeout=timeout) as client:
        return client.post(f"/{kind}", json=body, headers=headers)


def status(corrections: CorrectionProcess, key: str = "k1") -> httpx.Response:
    with corrections.client() as client:
        return client.get(f"/corrections/by-key/{key}")


def test_the_first_correction_is_cr_771(corrections: CorrectionProcess) -> None:
    assert status(corrections).status_code == 404
    answer = ask(corrections)
    assert (answer.status_code, answer.json()["external_id"]) == (201, "CR-771")
    assert ask(corrections, "k2").json()["external_id"] == "CR-772"
    assert ask(corrections, "k3", kind="holds").json()["external_id"] == "PH-501"


def test_a_key_acts_once(corrections: CorrectionProcess) -> None:
    answers = [ask(corrections) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201, 200, 200]
    assert {answer.json()["external_id"] for answer in answers} == {"CR-771"}
    statistics = corrections.statistics()
    assert statistics["effects"] == {"k1": 1}
    assert statistics["calls"] == {"k1": 3}
    assert statistics["by_invoice"] == {"INV-1042": 1}


def test_a_key_acts_once_when_many_call_at_the_same_time(
    corrections: CorrectionProcess,
) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: ask(corrections), range(64)))
    assert sorted(answer.status_code for answer in answers) == [200] * 63 + [201]
    assert corrections.statistics()["total"] == 1


def test_a_key_is_not_for_another_body_or_another_kind(
    corrections: CorrectionProcess,
) -> None:
    ask(corrections)
    other = BODY | {"amount_delta": "-9999.00"}
    assert ask(corrections, body=other).json()["error"] == "key_reused"
    assert ask(corrections, kind="holds").json()["error"] == "key_reused"
    reordered = dict(reversed(BODY.items()))
    assert ask(corrections, body=reordered).status_code == 200
    assert corrections.statistics()["total"] == 1


def test_an_older_fence_is_refused_for_good(corrections: CorrectionProcess) -> None:
    assert ask(corrections, fence=2).status_code == 201
    stale = ask(corrections, fence=1)
    assert (stale.status_code, stale.json()["error"]) == (409, "stale_fence")
    assert ask(corrections, fence=2).status_code == 200
    assert ask(corrections, fence=3).status_code == 200
    assert ask(corrections, fence=2).status_code == 409
    corrections.kill()
    corrections.start()
    assert ask(corrections, fence=2).status_code == 409
    assert ask(corrections, "k2", fence=1).status_code == 201


def test_it_can_be_asked_what_became_of_a_key(corrections: CorrectionProcess) -> None:
    ask(corrections, "key/with:signs")
    with corrections.client() as client:
        by_path = client.get("/corrections/by-key/key%2Fwith%3Asigns")
        by_query = client.get("/corrections", params={"key": "key/with:signs"})
    assert by_path.json() == by_query.json()
    assert by_path.json()["state"] == "confirmed"
    assert by_path.json()["external_id"] == "CR-771"


def test_effects_survive_a_kill(corrections: CorrectionProcess) -> None:
    assert ask(corrections).json()["external_id"] == "CR-771"
    corrections.kill()
    corrections.start()
    assert status(corrections).json()["external_id"] == "CR-771"
    assert ask(corrections).json()["external_id"] == "CR-771"
    assert ask(corrections, "k2").json()["external_id"] == "CR-772"


def test_whatever_was_answered_is_still_true_after_kills_in_the_middle(
    corrections: CorrectionProcess,
) -> None:
    answered: dict[str, str] = {}
    stop = threading.Event()

    def keep_asking(worker: int) -> None:
        number = 0
        while not stop.is_set():
            key = f"w{worker}-{number}"
            try:
                answered[key] = ask(corrections, key).json()["external_id"]
            except httpx.TransportError:
                continue
            number += 1

    threads = [threading.Thread(target=keep_asking, args=(one,)) for one in range(4)]
    for thread in threads:
        thread.start()
    for count in (20, 40, 60):
        wait_until(lambda count=count: len(answered) >= count)
        corrections.kill()
        corrections.start()
    stop.set()
    for thread in threads:
        thread.join()
    found = {key: status(corrections, key).json()["external_id"] for key in answered}
    assert found == answered
    assert len(set(answered.values())) == len(answered)


def test_refuse_does_nothing_and_says_so(corrections: CorrectionProcess) -> None:
    corrections.fail_next("refuse")
    assert ask(corrections).status_code == 422
    assert status(corrections).status_code == 404
    assert ask(corrections).status_code == 201


def test_error_500_does_nothing(corrections: CorrectionProcess) -> None:
    corrections.fail_next("error_500", count=2)
    assert [ask(corrections).status_code for _ in range(3)] == [500, 500, 201]
    assert corrections.statistics()["total"] == 1


def test_hang_never_answers_and_does_nothing(corrections: CorrectionProcess) -> None:
    corrections.fail_next("hang", seconds=600)
    with pytest.raises(httpx.ReadTimeout):
        ask(corrections, timeout=0.3)
    assert status(corrections).status_code == 404
    assert ask(corrections).status_code == 201


def test_hang_ends_in_a_dropped_connection(corrections: CorrectionProcess) -> None:
    corrections.fail_next("hang", seconds=0.05)
    with pytest.raises(httpx.TransportError):
        ask(corrections)
    assert status(corrections).status_code == 404


def test_commit_then_drop_acts_and_resets_the_connection(
    corrections: CorrectionProcess,
) -> None:
    corrections.fail_next("commit_then_drop")
    with pytest.raises(httpx.ReadError):
        ask(corrections)
    assert status(corrections).json()["external_id"] == "CR-771"
    assert ask(corrections).json()["replayed"] is True
    assert corrections.statistics()["total"] == 1


def test_commit_late_acts_after_its_caller_gave_up(
    corrections: CorrectionProcess,
) -> None:
    corrections.fail_next("commit_late", seconds=0.6)
    with pytest.raises(httpx.ReadTimeout):
        ask(corrections, timeout=0.2)
    wait_until(lambda: corrections.statistics()["in_flight"] == 0)
    assert status(corrections).json()["external_id"] == "CR-771"


def test_none_takes_an_order_back(corrections: CorrectionProcess) -> None:
    corrections.fail_next("refuse", count=100)
    corrections.fail_next("none")
    assert ask(corrections).status_code == 201


def test_a_failure_can_be_for_one_invoice(corrections: CorrectionProcess) -> None:
    corrections.fail_next("refuse", invoice_id="INV-7")
    assert ask(corrections).status_code == 201
    seven = {"invoice_id": "INV-7"}
    assert ask(corrections, "k7", body=seven).status_code == 422
    assert ask(corrections, "k7", body=seven).status_code == 201


def test_a_system_that_ignores_keys_acts_again(tmp_path: Path) -> None:
    with CorrectionProcess(tmp_path, "--ignore-keys") as corrections:
        answers = [ask(corrections).json()["external_id"] for _ in range(2)]
        assert answers == ["CR-771", "CR-772"]
        assert corrections.statistics()["effects"] == {"k1": 2}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"headers": {}, "json": BODY}, 400),
        ({"headers": {"Idempotency-Key": "x" * 256}, "json": BODY}, 400),
        (
            {"headers": {"Idempotency-Key": "k", "Keyturn-Fence": "-1"}, "json": BODY},
            400,
        ),
        ({"headers": {"Idempotency-Key": "k"}, "content": b"{"}, 400),
        ({"headers": {"Idempotency-Key": "k"}, "content": b"[" * 100_000}, 400),
        ({"headers": {"Idempotency-Key": "k"}, "content": b"\xff"}, 400),
        ({"headers": {"Idempotency-Key": "k"}, "json": []}, 400),
        ({"headers": {"Idempotency-Key": "k"}, "json": {}}, 422),
        ({"headers": {"Idempotency-Key": "k"}, "json": {"invoice_id": 7}}, 422),
        ({"headers": {"Idempotency-Key": "k"}, "content": b" " * 1_100_000}, 413),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(
    corrections: CorrectionProcess, request_: dict[str, Any], expected: int
) -> None:
    with corrections.client() as client:
        assert client.post("/corrections", **request_).status_code == expected
        assert client.get("/nowhere").status_code == 404
        assert client.post("/nowhere", json={}).status_code == 404
        assert client.get("/healthz").is_success
    assert corrections.statistics()["total"] == 0


def test_a_call_must_say_how_long_it_is(corrections: CorrectionProcess) -> None:
    connection = HTTPConnection("127.0.0.1", corrections.port, timeout=10)
    connection.putrequest("POST", "/corrections")
    connection.endheaders()
    assert connection.getresponse().status == 411
    connection.close()


@pytest.mark.parametrize(
    "plan",
    [{}, {"mode": "explode"}, {"mode": "hang", "count": 0}, {"mode": "hang", "x": 1}],
)
def test_an_order_for_failures_must_make_sense(
    corrections: CorrectionProcess, plan: dict[str, Any]
) -> None:
    with corrections.client() as client:
        assert client.post("/failures", json=plan).status_code == 422
    assert ask(corrections).status_code == 201
