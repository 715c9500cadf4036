"""What opens doors stands in no repr and no message: those end up in logs."""

import traceback
from typing import Any

import pytest

from keyturn import Client, acting, calls, documents
from keyturn.asks import Ask
from keyturn.documents import read
from keyturn.errors import NotConfigured, Unintelligible
from keyturn.testing import FakeApprover
from tests.sdk.samples import AT

SECRET = "s3cr3t-" + "x" * 20
EFFECT = {
    "id": "e",
    "tool": "pay",
    "target": None,
    "arguments": {},
    "idempotency_key": "k",
    "fencing_token": 1,
    "attempt": 1,
    "not_after": AT,
}
REDEEMED = {"effect": EFFECT, "token": SECRET, "verification": {}}


def test_an_effects_token_is_not_shown() -> None:
    redeemed = read(documents.Redeemed, REDEEMED)
    assert redeemed.token == SECRET
    assert SECRET not in repr(redeemed)
    assert SECRET not in repr(calls.Answer(200, REDEEMED))


def test_nor_is_it_while_the_action_is_under_way() -> None:
    people = FakeApprover()
    people.approve()
    with people.client() as client:
        asked = client.request_approval(Ask(tool="pay", arguments={}))
        turn = client.drive(acting.redeem_when_ready(client, asked.id, timeout=None))
    assert turn.redeemed.token == "fake"
    assert "'fake'" not in repr(turn)


@pytest.mark.parametrize(
    "flaw", [{"token": [SECRET]}, {"effect": {**EFFECT, "not_after": SECRET}}], ids=repr
)
def test_a_misshapen_answer_is_not_repeated(flaw: dict[str, Any]) -> None:
    with pytest.raises(Unintelligible) as caught:
        read(documents.Redeemed, {**REDEEMED, **flaw})
    told = "".join(traceback.format_exception(caught.value))
    assert SECRET not in told


def test_a_client_shows_neither_its_key_nor_its_address() -> None:
    with Client("https://keyturn.example", SECRET) as client:
        assert SECRET not in repr(client) + repr(client._http.headers)
    with pytest.raises(NotConfigured) as caught:
        Client(f"http://robot:{SECRET}@keyturn.example", "kt_x")
    assert "keyturn.example" in str(caught.value)
    assert SECRET not in str(caught.value)
