"""Signatures against published vectors, the tolerance, addresses, pauses."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook as Signer
from standardwebhooks import WebhookVerificationError

from approvals.webhooks import (
    LONGEST_REST,
    PAUSES,
    flaw_of,
    new_secret,
    pause_after,
    rest_after,
    signed_headers,
)
from kernel.ids import new_id

# The vector that the library's own tests use, and one of the Agent Approval Protocol.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = '{"test": 2432232314}'
AAP = {
    "secret": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "id": "f4b96ac4-404d-4f6a-9a03-a0565edc4922",
    "at": 1789560121,
    "signature": "v1,zgT2qt+QiEEonu9tmZqEuKzoa83SGE9ZcCgUHzqSPZ8=",
    "body": """{
  "id": "f4b96ac4-404d-4f6a-9a03-a0565edc4922",
  "type": "request.resolved",
  "instance_id": "b29a43a7-1949-4b9f-9d61-b7ae66f85d31",
  "request_id": "7ab8c8ec-7b2d-4fd6-9b52-752f9515eb71",
  "created_at": "2026-09-16T12:02:00Z"
}""",
}


def test_the_librarys_vector() -> None:
    at = datetime.fromtimestamp(1614265330, tz=UTC)
    signed = Signer(SECRET).sign("msg_p5jXN8AQM9LWM0D4loKWxJek", at, BODY)
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_headers_carry_what_was_signed() -> None:
    at = datetime.fromtimestamp(int(AAP["at"]), tz=UTC)  # type: ignore[call-overload]
    headers = signed_headers(
        UUID(str(AAP["id"])), str(AAP["body"]), [str(AAP["secret"])], at
    )
    assert headers["webhook-signature"] == AAP["signature"]
    assert headers["webhook-timestamp"] == str(AAP["at"])
    assert headers["webhook-id"] == AAP["id"]


def test_another_time_zone_changes_nothing() -> None:
    from datetime import timezone

    at = datetime.now(UTC)
    elsewhere = at.astimezone(timezone(timedelta(hours=5, minutes=30)))
    event = new_id()
    assert signed_headers(event, BODY, [SECRET], at) == signed_headers(
        event, BODY, [SECRET], elsewhere
    )


@pytest.mark.parametrize("direction", [-1, 1])
def test_299_seconds_are_accepted_and_301_refused(direction: int) -> None:
    """By the library that receivers verify with."""
    now = datetime.now(UTC)
    near = signed(now + direction * timedelta(seconds=299))
    far = signed(now + direction * timedelta(seconds=302))  # one for rounding
    assert Signer(SECRET).verify(BODY, near) == {"test": 2432232314}
    with pytest.raises(WebhookVerificationError):
        Signer(SECRET).verify(BODY, far)


def signed(at: datetime) -> dict[str, str]:
    return dict(signed_headers(new_id(), BODY, [SECRET], at))


@given(st.text(max_size=200))
def test_whatever_is_signed_is_verified(body: str) -> None:
    secret = new_secret()
    headers = dict(
        signed_headers(new_id(), body, [new_secret(), secret], datetime.now(UTC))
    )
    Signer(secret).verify(body, headers, json_parse=False)


def test_secrets_are_32_random_bytes() -> None:
    import base64

    one, other = new_secret(), new_secret()
    assert one != other
    assert len(base64.b64decode(one.removeprefix("whsec_"))) == 32


def test_pauses_grow_and_end() -> None:
    pauses = [pause_after(n) for n in range(1, len(PAUSES) + 2)]
    assert pauses[-1] is None
    known = [one for one in pauses if one is not None]
    assert all(a < b for a, b in itertools.pairwise(known))
    for pause, meant in zip(known, PAUSES, strict=True):
        assert 0.8 * meant <= pause.total_seconds() <= 1.2 * meant
    assert len({pause_after(1) for _ in range(20)}) > 1  # not all at the same moment


@pytest.mark.parametrize(
    "wish",
    [
        *("", " ", "soon", "0", "-5", "+5", "-" + "9" * 5000, "٣", "²", "1e9", "1.5"),
        *(
            "0x10",
            "nan",
            "inf",
            "1_000",
            "900 ",
            "0" * 5000,
            "\x00",
            "\ud800",
            "9" + "٣",
        ),
        "Wed, 21 Oct 2099 07:28:00 GMT",
    ],
)
def test_a_wish_that_is_none_changes_nothing(wish: str) -> None:
    pause = pause_after(1, wish)
    assert pause is not None
    assert pause.total_seconds() <= 6


@pytest.mark.parametrize(
    "wish", ["3600", "99999999999", "0" * 5000 + "7200", "9" * 5000, "9" * 60_000]
)
def test_a_wish_is_bounded(wish: str) -> None:
    pause = pause_after(1, wish)
    assert pause == timedelta(hours=1)


@given(st.integers(1, 10_000))
def test_a_rest_is_bounded(failures: int) -> None:
    assert timedelta(0) < rest_after(failures) <= LONGEST_REST


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example",
        "http://hooks.example/x",
        "ftp://hooks.example/x",
        "https://",
        "https://user@hooks.example/x",
        "https://hooks.example/x#y",
        "https://hooks.example:99999/",
        "https://[::1/",
        "https://hooks.example/a b",
        "https://höoks.example/",
    ],
)
def test_addresses_that_can_be_no_webhook(url: str, settings: Any) -> None:
    settings.ALLOW_PRIVATE = []
    assert flaw_of(url)


def test_an_address_that_can() -> None:
    assert flaw_of("https://hooks.example:8443/x?y=z") == ""
