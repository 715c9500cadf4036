"""Credentials are found, wherever they are put; everyday values are let through.

The fake credentials are put together here, so that no scanner takes this file for a
leak.
"""

import string
import time
from base64 import urlsafe_b64encode
from itertools import cycle, islice

import pytest
from hypothesis import given

from kernel import secrets
from kernel.secrets import Secret, find_secret, kind_of_secret
from tests.kernel.strategies import json_values

DIGITS = string.digits
UPPER = string.ascii_uppercase
LETTERS = string.ascii_letters
MIXED = "q7RtZ3xKw9LmP2vB"


def fill(alphabet: str, length: int) -> str:
    return "".join(islice(cycle(alphabet), length))


def jwt() -> str:
    parts = (b'{"alg":"HS256"}', b'{"sub":"1234567890"}', b"0" * 32)
    return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


FAKES = [
    ("AWS access key", "AK" + "IA" + fill(UPPER, 16)),
    ("AWS access key", "AS" + "IA" + fill("Z2Y3X4", 16)),
    ("GitHub token", "gh" + "p_" + fill(MIXED, 36)),
    ("GitHub token", "gh" + "s_" + fill(MIXED, 40)),
    ("GitHub token", "github" + "_pat_" + fill(MIXED, 22) + "_" + fill(MIXED, 59)),
    ("GitLab token", "gl" + "pat-" + fill(MIXED, 20)),
    ("Slack token", "xo" + "xb-" + fill(DIGITS, 12) + "-" + fill(MIXED, 24)),
    (
        "Slack webhook",
        "https://hooks.slack" + ".com/services/T" + fill(UPPER, 8)
        + "/B" + fill(UPPER, 8) + "/" + fill(MIXED, 24),
    ),
    ("Stripe key", "sk" + "_live_" + fill(MIXED, 24)),
    ("Stripe key", "rk" + "_live_" + fill(MIXED, 24)),
    ("Google API key", "AI" + "za" + fill(MIXED, 35)),
    ("Google OAuth secret", "GOC" + "SPX-" + fill(MIXED, 28)),
    ("Anthropic key", "sk-" + "ant-api03-" + fill(MIXED, 93)),
    ("OpenAI key", "sk-" + fill(MIXED, 20) + "T3Blbk" + "FJ" + fill(MIXED, 20)),
    ("OpenAI key", "sk-" + "proj-" + fill(MIXED, 60)),
    ("npm token", "np" + "m_" + fill(MIXED, 36)),
    ("PyPI token", "py" + "pi-AgEIcHlwaS5vcmc" + fill(MIXED, 100)),
    ("SendGrid key", "S" + "G." + fill(MIXED, 22) + "." + fill(MIXED, 43)),
    ("Hugging Face token", "h" + "f_" + fill(LETTERS, 34)),
    ("DigitalOcean token", "dop" + "_v1_" + fill("0a1b2c", 64)),
    ("Keyturn API key", "k" + "t_live_" + fill(MIXED, 7) + "_" + fill(MIXED, 36)),
    ("JSON Web Token", jwt()),
    ("private key", "-----BEGIN " + "RSA PRIVATE KEY-----"),
    ("private key", "-----BEGIN " + "PRIVATE KEY-----"),
    ("private key", "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----"),
    ("password in a URL", "postgres://app:" + "hunter2" + "@db.internal/app"),
    ("password or token", "password=" + MIXED),
    ("password or token", '{"api_key": "' + MIXED + '"}'),
    ("password or token", "Authorization: Bearer " + MIXED * 2),
    ("password or token", "export CLIENT_SECRET='" + MIXED + "'"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), FAKES)
def test_a_credential_is_found_alone_and_in_a_sentence(kind: str, text: str) -> None:
    assert kind_of_secret(text) == kind
    assert kind_of_secret(f"Use this ({text}), please.") == kind
    assert kind_of_secret(f"line one\n{text}\nline three") == kind


@pytest.mark.parametrize(("kind", "text"), FAKES)
def test_its_place_is_told_and_never_itself(kind: str, text: str) -> None:
    value = {"to": "INV-1042", "notes": [{"a/b": text}]}
    found = find_secret(value)
    assert found == Secret("/notes/0/a~1b", kind)
    assert text not in repr(found)


def test_a_credential_used_as_a_key_is_found_at_its_object() -> None:
    assert find_secret({"x": {FAKES[0][1]: 1}}) == Secret("/x", "AWS access key")


@pytest.mark.parametrize(
    "key", ["password", "api_key", "apiKey", "X-Api-Key", "clientSecret", "auth_token"]
)
def test_a_telling_key_makes_a_random_value_a_secret(key: str) -> None:
    assert find_secret({key: MIXED}) == Secret(f"/{key}", "password or token")


@pytest.mark.parametrize(
    "value",
    [
        {"invoice": "INV-1042", "iban": "DE89 3704 0044 0532 0130 00"},
        {"id": "0190f3a2-7c1e-7b3a-9d2f-1234567890ab"},
        {"sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"url": "https://user@example.com:8443/a?b=c:d@e"},
        {"url": "https://example.com/?next=http://x:1/@y"},
        {"password": "secret://payments"},
        {"text": "password=secret://payments-provider-1"},
        {"password": ""},
        {"password": "********************"},
        {"password": "changeme-please"},
        {"token": "TOKEN_PLACEHOLDER"},
        {"page_token": MIXED},
        {"nextToken": MIXED},
        {"max_tokens": 4096, "tokens": [MIXED]},
        {"text": "The password: please ask the administrator for it."},
        {"text": "Forgot your password? Token: none. Secret: yes."},
        {"text": "token={{ vault.token_for_payments_1 }}"},
        {"text": "password=$PAYMENT_PASSWORD_1234"},
        {"author": MIXED, "tokenizer": MIXED, "secretary": MIXED},
        {"risk": "sk-1", "mask": "task-proj-1", "AKIA": "AKIA"},
        {"key": "-----BEGIN PUBLIC KEY-----"},
        {"text": "eyJ is how a JSON Web Token begins."},
    ],
)
def test_everyday_values_pass(value: object) -> None:
    assert find_secret(value) is None


@given(json_values)
def test_random_json_is_no_secret(value: object) -> None:
    assert find_secret(value) is None


@pytest.mark.parametrize(
    "piece",
    [
        "password",
        "password=",
        "eyJ",
        "eyJaaaaaaaaaaaa.",
        "a://",
        "a://b:c",
        "x" * 9,
        "sk-",
    ],
)
def test_the_cost_grows_with_the_length_and_no_faster(piece: str) -> None:
    def cost(times: int) -> float:
        text = piece * times
        started = time.process_time()
        kind_of_secret(text)
        return time.process_time() - started

    small = min(cost(4_000) for _ in range(3))
    large = min(cost(32_000) for _ in range(3))
    assert large < 0.005 + 8 * small * 4  # 8 times the length; quadratic would be 64


def test_a_repeated_value_is_looked_at_once_and_too_many_are_not_looked_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[str] = []
    real = secrets._looks_random
    monkeypatch.setattr(
        secrets, "_looks_random", lambda text: looked.append(text) or real(text)
    )
    assert kind_of_secret("token=aaaaaaaaaaaaaaa " * 20_000) is None
    assert len(looked) == 1
    looked.clear()
    plain = "".join(
        f"token={'ab' * 8}{'abcdefghij'[n % 10] * (n // 10)} " for n in range(900)
    )
    assert kind_of_secret(plain[:100_000]) is None
    different = " ".join(f"token={n:x<16}" for n in range(20_000))
    assert kind_of_secret(different) == secrets.TOO_MANY
    assert len(looked) <= 2 * secrets.MOST_CANDIDATES
