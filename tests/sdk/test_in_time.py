"""An action begins before its time is over, by the server's clock, or not at all."""

from collections.abc import Mapping
from typing import Any

import pytest

import keyturn
from keyturn import Action, Ask, acting
from keyturn.testing import FakeApprover
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
