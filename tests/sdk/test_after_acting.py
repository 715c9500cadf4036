"""What an action came to is told, whatever becomes of the server afterwards."""

from typing import Any

import httpx
import pytest

import keyturn
from keyturn import Action, Ask
from keyturn.testing import FakeApprover
from tests.sdk.fronts import Front

ASK = Ask(tool="pay", arguments={"amount": "1.00"})


@pytest.fixture
def front() -> Front:
    people = FakeApprover()
    people.approve()
    return Front(people)


def reads_a_run(request: httpx.Request) -> bool:
    return request.method == "GET" and "/runs/" in request.url.path


@pytest.mark.parametrize("error", [None, ValueError("by the bank")], ids=repr)
def test_a_run_that_cannot_be_read_again_hides_nothing(
    front: Front, error: Exception | None
) -> None:
    def pay(amount: str) -> str:
        front.is_cut = reads_a_run
        if error is not None:
            raise error
        return "PAY-1"

    def act(run: Any) -> None:
        assert run.act(ASK, Action(function=pay)) == "PAY-1"

    with front.client() as client, client.run("TASK-1", subject="customer-7") as run:
        if error is None:
            act(run)
        else:
            with pytest.raises(ValueError, match="by the bank"):
                act(run)
        front.is_cut = lambda request: False


def test_nor_does_it_hide_what_people_said(front: Front) -> None:
    front.people.reject()

    def is_cut(request: httpx.Request) -> bool:
        asked = bool(front.people.asked)
        return asked and reads_a_run(request)

    front.is_cut = is_cut
    with front.client() as client, client.run("TASK-1", subject="customer-7") as run:
        with pytest.raises(keyturn.Rejected):
            run.act(ASK, Action(function=lambda amount: None))
        front.is_cut = lambda request: False
