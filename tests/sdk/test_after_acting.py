"""What an action came to is told, whatever becomes of the server afterwards."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

import keyturn
from keyturn import Action, Ask, Client
from keyturn.testing import FakeApprover

ASK = Ask(tool="pay", arguments={"amount": "1.00"})


class Front:
    """Stands before the people's server; `is_cut` says for whom it is not there."""

    def __init__(self, people: FakeApprover) -> None:
        self.people = people
        self.is_cut: Callable[[httpx.Request], bool] = lambda request: False

    def handle(self, request: httpx.Request) -> httpx.Response:
        if self.is_cut(request):
            raise httpx.ConnectError("refused")
        return self.people._server.handle(request)

    def client(self) -> Client:
        transport = httpx.MockTransport(self.handle)
        return Client("http://localhost", "kt_x", patience=0, transport=transport)


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
