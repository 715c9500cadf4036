"""An action begins before its time is over, by the server's clock, or not at all."""

import math
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

import keyturn
from keyturn import Action, Ask, acting, calls
from keyturn.testing import FakeApprover
from tests.sdk.fronts import Front
from tests.sdk.worlds import Real

ASK = Ask(tool="pay", arguments={"amount": "1.00"})


@pytest.fixture
def people() -> FakeApprover:
    people = FakeApprover()
    people.approve()
    return people


def test_what_became_late_meanwhile_is_not_done(people: FakeApprover) -> None:
    done: list[Any] = []

    def takes_long(arguments: Mapping[str, Any]) -> None:
        people._server.seconds += 300

    action = Action(function=lambda **given: done.append(given), fits=takes_long)
    with people.client() as client:
        asked = client.request_approval(ASK)
        with pytest.raises(keyturn.NothingDone, match="time to act"):
            client.drive(acting.take(client, asked.id, action, timeout=None))
    assert (done, people.outcomes[0].outcome) == ([], "failed")


@pytest.mark.parametrize(("later", "outcome"), [(290, "confirmed"), (299, "unknown")])
def test_a_successor_has_the_time_of_the_first(
    people: FakeApprover, later: float, outcome: str
) -> None:
    done: list[Any] = []
    action = Action(function=lambda **given: done.append(given), repeatable=True)
    with people.client() as client:
        asked = client.request_approval(ASK)
        client.drive(acting.redeem_when_ready(client, asked.id, timeout=None))
        people._server.seconds += later
        again = acting.take(client, asked.id, action, timeout=None)
        if outcome == "confirmed":
            client.drive(again)
        else:
            with pytest.raises(keyturn.InDoubt):
                client.drive(again)
    assert len(done) == (outcome == "confirmed")
    assert people.outcomes[0].outcome == outcome


def test_the_servers_clock_counts(real: Real) -> None:
    real.answer("approve")
    with real.client() as client:
        asked = client.request_approval(ASK)
        turn = client.drive(acting.redeem_when_ready(client, asked.id, timeout=None))
        assert 240 < turn.ends - client.now() < 300


class NotYet(Front):
    """A server at which an approval cannot be used yet: `refusals` says how often."""

    refusals: float = math.inf
    sent: int = 0

    def handle(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/redeem") and self.sent < self.refusals:
            self.sent += 1
            body = {"code": "effects.in_flight", "class": "wait"}
            return httpx.Response(409, json=body)
        return super().handle(request)


@pytest.fixture
def not_yet(people: FakeApprover) -> NotYet:
    return NotYet(people)


@pytest.mark.parametrize("timeout", [0, 30])
def test_a_timeout_also_ends_the_wait_for_what_stands_in_the_way(
    not_yet: NotYet, timeout: float
) -> None:
    with not_yet.in_simulated_time() as client:
        asked, action = (
            calls.request_approval(ASK),
            Action(function=lambda **given: None),
        )
        with pytest.raises(keyturn.Delayed) as caught:
            client.drive(acting.ask_and_take(client, asked, action, timeout=timeout))
        assert isinstance(caught.value, keyturn.Paused)
        assert isinstance(caught.value.__cause__, keyturn.VerificationRefused)
        assert client.now() <= timeout
        assert client.get_approval(caught.value.approval.id).next == "redeem"


def test_what_passes_in_time_is_waited_for(not_yet: NotYet) -> None:
    not_yet.refusals = 3
    with not_yet.in_simulated_time() as client:
        asked = client.request_approval(ASK)
        action = Action(function=lambda **given: "paid")
        taken = acting.take(client, asked.id, action, timeout=30)
        assert client.drive(taken) == "paid"
    assert not_yet.sent == 3
