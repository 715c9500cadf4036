"""Providers that harm those who ask them: whoever owns a tenant names one, and shares
the processes with every other tenant."""

import time
from collections.abc import Iterator
from threading import Event
from typing import Any
from uuid import UUID

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.test import Client
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from checkpoints.outbound import send
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from oversight.sso import tokens, turns
from oversight.sso.tokens import TokenRefused, authenticated_ago, checked_claims
from oversight.sso.turns import turn
from tenants.services.single_sign_on import provider_of
from tests.concurrency import together
from tests.factories import fresh_house
from tests.oversight.sso.journey import address_of, local, question, set_up
from tests.oversight.sso.provider import Provider

ISSUER = "https://id.example"
EC = ec.generate_private_key(ec.SECP256R1())


def claims(**more: Any) -> dict[str, Any]:
    now = int(time.time())
    said = {"iss": ISSUER, "sub": "nora-1", "aud": "us", "nonce": "n"}
    return {**said, "iat": now, "exp": now + 300, **more}


def check(said: dict[str, Any], key: Any, published: dict[str, Any], alg: str) -> Any:
    token = jwt.encode(said, key, alg)
    return checked_claims(token, [published], issuer=ISSUER, client_id="us", nonce="n")


def test_a_private_key_is_not_taken_apart() -> None:
    """Of one of 4,000 bytes the factors are looked for over minutes, in every thread's
    stead. Here what is private is nonsense: whoever looked at it would refuse the key."""
    key = rsa.generate_private_key(65537, 2048)
    published = {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "d": "AQAB"}
    assert check(claims(), key, published, "RS256")["sub"] == "nora-1"


@pytest.mark.parametrize("member", ["n", "e"])
def test_an_enormous_key_is_not_tried(member: str) -> None:
    key = rsa.generate_private_key(65537, 2048)
    published = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    published[member] = "A" * (tokens.LONGEST_MEMBER + 1)
    with pytest.raises(TokenRefused, match="no usual one"):
        check(claims(), key, published, "RS256")


@pytest.mark.parametrize(
    "nonsense",
    [
        {"nonce": "\ud800"},
        {"auth_time": -(10**400)},
    ],
    ids=["no text", "no time"],
)
def test_what_is_no_claim_is_refused(nonsense: dict[str, Any]) -> None:
    published = ECAlgorithm.to_jwk(EC.public_key(), as_dict=True)
    with pytest.raises(TokenRefused):
        authenticated_ago(check(claims(**nonsense), EC, published, "ES256"))


class Slow:
    """What is sent waits here until it may go on: a provider that takes its time."""

    def __init__(self) -> None:
        self.asked, self.may_go_on = Event(), Event()

    def __call__(self, *args: Any, **given: Any) -> Any:
        self.asked.set()
        assert self.may_go_on.wait(60)
        return send(*args, **given)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    from oversight.sso import provider as asking

    slow = Slow()
    monkeypatch.setattr(asking, "send", slow)
    yield slow
    slow.may_go_on.set()


def come_back(browser: Client, there: str) -> int:
    return int(browser.get(local(there)).status_code)


def test_a_slow_provider_holds_one_thread(
    provider: Provider, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process has two or so: a few sign-ins at a slow one shut everybody else out."""
    house, other = fresh_house(), fresh_house()
    slow.may_go_on.set()
    set_up(house, provider)
    set_up(other, provider, admits=False)
    provider.signs_in("nora-1")
    first, *rest = [Client() for _ in range(3)]
    tenants = [house, house, other]
    there = [
        provider.answers(question(one, address_of(of)))
        for one, of in zip([first, *rest], tenants, strict=True)
    ]
    slow.asked.clear()
    slow.may_go_on.clear()
    monkeypatch.setattr(turns, "PATIENCE", 0.01)

    def others() -> list[int]:
        assert slow.asked.wait(60)
        said = list(map(come_back, rest, there[1:]))
        slow.may_go_on.set()
        return said

    began, refused = together(lambda: come_back(first, there[0]), others)
    assert (began, refused) == (302, [503, 503])


def test_whoever_waits_for_a_quick_one_is_next() -> None:
    inside, done = Event(), Event()

    def second() -> bool:
        assert inside.wait(60)
        done.set()
        with turn("acme", "a"):
            return True

    def first() -> bool:
        with turn("acme", "b"):
            inside.set()
            return done.wait(60)

    assert together(first, second) == [True, True]


def test_a_turn_is_of_one_tenant_and_one_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So neither many tenants at one, nor one at many, ask more at once."""
    monkeypatch.setattr(turns, "PATIENCE", 0.01)
    with turn("acme", "a"):
        for names in (("acme", "b"), ("other", "a")):
            with pytest.raises(Problem, match="busy"), turn(*names):
                raise AssertionError("two at once")
        with turn("other", "b"):
            pass
    with turn("acme", "a"):
        pass


def test_a_failure_that_is_remembered_keeps_nothing_of_whoever_saw_it(
    provider: Provider,
) -> None:
    house = fresh_house()
    set_up(house, provider)
    provider.signs_in("nora-1", lies={"discovered": "https://evil.example"})
    seen = [problem_of(house.id) for _ in range(2)]
    assert seen[0] is not seen[1]
    assert [one.code for one in seen] == ["sso.provider_failed"] * 2


def problem_of(tenant_id: UUID) -> Problem:
    from oversight.sso.provider import published

    with tenant_transaction(tenant_id):
        asked = provider_of(tenant_id)
    with pytest.raises(Problem) as caught:
        published(asked)
    return caught.value
