"""Standard Webhooks: the published example, and everything that is not it."""

import base64
import hmac
import json

import pytest

from keyturn import webhooks

# The example of the specification.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
SENT = 1614265330
HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": str(SENT),
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}


def test_the_published_example_is_genuine() -> None:
    event = webhooks.verify(BODY, HEADERS, SECRET, now=SENT)
    assert event == {"test": 2432232314}
    upper = {name.title(): value for name, value in HEADERS.items()}
    assert webhooks.verify(BODY, upper, SECRET, now=SENT) == event


@pytest.mark.parametrize("late", [-299, 299, -300, 300])
def test_in_time(late: int) -> None:
    webhooks.verify(BODY, HEADERS, SECRET, now=SENT + late)


@pytest.mark.parametrize("late", [-301, 301, 10**9])
def test_not_in_time(late: int) -> None:
    with pytest.raises(webhooks.NotGenuine):
        webhooks.verify(BODY, HEADERS, SECRET, now=SENT + late)


def test_while_secrets_are_rotated_either_will_do() -> None:
    other = "whsec_" + base64.b64encode(b"another secret" * 2).decode()
    webhooks.verify(BODY, HEADERS, [other, SECRET], now=SENT)
    signatures = f"v1,AAAA v2,x {HEADERS['webhook-signature']}"
    told = {**HEADERS, "webhook-signature": signatures}
    webhooks.verify(BODY, told, SECRET, now=SENT)
    with pytest.raises(webhooks.NotGenuine):
        webhooks.verify(BODY, HEADERS, [other], now=SENT)


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "msg_other"},
        {"webhook-timestamp": str(SENT + 1)},
        {"webhook-timestamp": "now"},
        {"webhook-timestamp": "²"},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": HEADERS["webhook-signature"].replace("v1,", "v1a,")},
        {"webhook-signature": "v1,é"},
    ],
    ids=repr,
)
def test_any_change_is_noticed(change: dict[str, str]) -> None:
    with pytest.raises(webhooks.NotGenuine):
        webhooks.verify(BODY, {**HEADERS, **change}, SECRET, now=SENT)


@pytest.mark.parametrize("name", sorted(HEADERS))
def test_a_missing_header_is_noticed(name: str) -> None:
    told = {key: value for key, value in HEADERS.items() if key != name}
    with pytest.raises(webhooks.NotGenuine, match=name):
        webhooks.verify(BODY, told, SECRET, now=SENT)


def test_another_body_is_noticed() -> None:
    with pytest.raises(webhooks.NotGenuine):
        webhooks.verify(BODY + b" ", HEADERS, SECRET, now=SENT)


def test_an_empty_list_of_secrets_lets_nothing_through() -> None:
    with pytest.raises(webhooks.NotGenuine):
        webhooks.verify(BODY, HEADERS, [], now=SENT)


def test_a_secret_of_another_form_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="whsec_"):
        webhooks.verify(BODY, HEADERS, "whsec_no base64", now=SENT)


@pytest.mark.parametrize("size", [0, 1, 23])
def test_a_secret_that_could_be_guessed_is_one_too(size: int) -> None:
    """An empty one, as of a variable that is not set, would let everybody in."""
    short = "whsec_" + base64.b64encode(b"k" * size).decode()
    for secrets in (short, [SECRET, short]):
        with pytest.raises(ValueError, match="24 bytes"):
            webhooks.verify(BODY, HEADERS, secrets, now=SENT)


def test_it_agrees_with_the_definition() -> None:
    body, message = json.dumps({"type": "approval.decided"}).encode(), "msg_1"
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signed = b".".join([message.encode(), b"1700000000", body])
    signature = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    told = {
        "webhook-id": message,
        "webhook-timestamp": "1700000000",
        "webhook-signature": f"v1,{signature}",
    }
    event = webhooks.verify(body, told, SECRET, now=1700000000)
    assert event == {"type": "approval.decided"}
