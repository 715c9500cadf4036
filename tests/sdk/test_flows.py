"""What is sent again, how long is waited, and when it is given up: without sleeping."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyturn import Ask, calls
from keyturn.errors import Conflict, Invalid, KeyturnError, Unreachable
from keyturn.flows import (
    MOST_ASKED_FOR,
    Busy,
    Connection,
    Sleep,
    Transmit,
    _unreached,
    send,
    wait,
)
from tests.sdk.samples import approval


class Clock(Connection):
    def __init__(self, patience: float = 60.0) -> None:
        self.patience = patience
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds


def busy(status: int = 503, retry_after: float = 0.0) -> Busy:
    error = Busy(status, {"code": "busy"})
    error.retry_after = retry_after
    return error


def play(clock: Clock, flow: Any, answer: Callable[[Any], Any]) -> Any:
    """Drive a flow in simulated time; `answer` returns an answer or an exception."""
    given: Any = None
    resume = flow.send
    while True:
        try:
            step = resume(given)
        except StopIteration as ended:
            return ended.value
        resume, given = flow.send, None
        if isinstance(step, Sleep):
            clock.seconds += step.seconds
            continue
        assert isinstance(step, Transmit)
        given = answer(step.call)
        if isinstance(given, BaseException):
            resume = flow.throw


def one_by_one(*answers: Any) -> tuple[Callable[[Any], Any], list[Any]]:
    left: Iterator[Any] = iter(answers)
    sent: list[Any] = []

    def answer(call: Any) -> Any:
        sent.append(call)
        return next(left)

    return answer, sent


ASK = Ask(tool="pay", arguments={"amount": "1.00"})
ASKED = calls.Answer(201, approval(fence=1))


@pytest.mark.parametrize(
    "flaw",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("late"),
        httpx.RemoteProtocolError("cut"),
        busy(429),
        busy(502),
        busy(503),
        busy(504),
        Conflict(409, {"code": "idempotency_in_flight"}),
    ],
    ids=repr,
)
def test_what_passes_by_itself_is_sent_again_byte_for_byte(flaw: Exception) -> None:
    answer, sent = one_by_one(flaw, flaw, ASKED)
    clock = Clock()
    made = play(clock, send(clock, calls.request_approval(ASK)), answer)
    assert made.fence == 1
    assert len({(one.key, one.content, one.path) for one in sent}) == 1
    assert sent[0].key
    assert clock.seconds > 0


@pytest.mark.parametrize(
    "refused",
    [
        Conflict(409, {"code": "stale_writer"}),
        Invalid(422, {"code": "idempotency_mismatch"}),
        KeyturnError("a defect"),
    ],
    ids=repr,
)
def test_nothing_else_is_sent_again(refused: Exception) -> None:
    answer, sent = one_by_one(refused)
    clock = Clock()
    with pytest.raises(type(refused)):
        play(clock, send(clock, calls.request_approval(ASK)), answer)
    assert (len(sent), clock.seconds) == (1, 0)


@given(seconds=st.floats(0, 10_000), times=st.integers(1, 20))
def test_the_server_is_left_alone_for_as_long_as_it_asks(
    seconds: float, times: int
) -> None:
    answer, _ = one_by_one(*[busy(429, seconds)] * times, ASKED)
    clock = Clock(patience=10**9)
    play(clock, send(clock, calls.request_approval(ASK)), answer)
    asked = min(seconds, MOST_ASKED_FOR)
    assert asked * times < clock.seconds < (asked + 10) * times + 1


def test_not_all_come_back_at_the_same_moment() -> None:
    after = set()
    for _ in range(20):
        answer, _ = one_by_one(busy(503, 5), ASKED)
        clock = Clock()
        play(clock, send(clock, calls.request_approval(ASK)), answer)
        after.add(clock.seconds)
    assert len(after) > 15


def test_patience_ends() -> None:
    clock = Clock(patience=30)
    with pytest.raises(Unreachable):
        play(
            clock,
            send(clock, calls.request_approval(ASK)),
            lambda call: httpx.ConnectError("refused"),
        )
    assert 20 < clock.seconds <= 30


def test_waiting_survives_an_hour_without_a_server() -> None:
    clock = Clock(patience=30)

    def answer(call: Any) -> Any:
        if clock.seconds < 3600:
            clock.seconds += 1
            return httpx.ConnectError("refused")
        return calls.Answer(200, approval(next="redeem", status="approved"))

    assert play(clock, wait(clock, "a"), answer).next == "redeem"


def test_waiting_ends_in_time_with_what_there_is() -> None:
    clock = Clock()
    polls = []

    def answer(call: Any) -> Any:
        polls.append(call.query["wait"])
        clock.seconds += call.query["wait"]
        return calls.Answer(200, approval())

    found = play(clock, wait(clock, "a", timeout=360), answer)
    assert (found.next, clock.seconds) == ("wait", 360)
    assert polls == [50] * 7 + [10]


def test_an_id_cannot_become_another_address() -> None:
    assert calls.get_run("../approvals?x").path == "runs/..%2Fapprovals%3Fx"
    for nothing in ("", ".", ".."):
        with pytest.raises(ValueError, match="names nothing"):
            calls.get_run(nothing)


@given(words=st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_any_words_make_a_key(words: list[str]) -> None:
    key = calls.key_from(*words)
    assert key == calls.key_from(*words)
    assert 1 <= len(key) <= 255
    assert all("\x21" <= letter <= "\x7e" for letter in key)


def test_what_cannot_be_reached_says_where_it_was_tried() -> None:
    request = httpx.Request("GET", "http://robot:secret@127.0.0.1:9/api/v1/approvals")
    error = httpx.ConnectError("refused", request=request)
    said = _unreached("approvals", error)
    assert said == "approvals: ConnectError at http://127.0.0.1:9"
