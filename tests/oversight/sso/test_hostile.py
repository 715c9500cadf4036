"""Providers and strangers that lie: none of it lets anybody in."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client

from checkpoints.outbound import send
from kernel.scope import tenant_transaction
from oversight.sso import flow
from oversight.sso.tokens import told_by
from tenants.models import ExternalIdentity
from tests.factories import House, fresh_house
from tests.oversight.sso.journey import address_of, arrive, local, question, set_up
from tests.oversight.sso.provider import Provider

LIES: dict[str, dict[str, Any]] = {
    "nonce of another sign-in": {"claims": {"nonce": "n" * 43}},
    "no nonce": {"claims": {"nonce": None}},
    "another audience": {"claims": {"aud": "somebody-else"}},
    "two audiences and no azp": {"claims": {"aud": ["keyturn-client", "b"]}},
    "azp of another": {"claims": {"azp": "b"}},
    "another issuer": {"claims": {"iss": "https://evil.example"}},
    "no expiry": {"claims": {"exp": None}},
    "expired": {"later": {"iat": -900, "exp": -600}},
    "issued in the future": {"later": {"iat": 900, "exp": 1200}},
    "no subject": {"claims": {"sub": ""}},
    "a subject that is no text": {"claims": {"sub": 7}},
    "a subject with a line break": {"claims": {"sub": "a\nb"}},
    "no signature": {"alg": "none"},
    "a shared secret": {"alg": "HS256"},
    "a key of somebody else": {"forged": True},
    "a key that is not published": {"kid": "two"},
    "a key that is too small": {"alg": "RS256", "small": True},
    "a time that is none": {"claims": {"auth_time": "yesterday"}},
    "a proof in the future": {"later": {"auth_time": 900}},
    "another provider's answer": {"answer_iss": "https://evil.example"},
    "an answer of nobody": {"no_answer_iss": True},
    "a token endpoint elsewhere": {"redirects": True},
}


@pytest.fixture(scope="module")
def house() -> House:
    return fresh_house()


def identities(house: House) -> int:
    with tenant_transaction(house.id):
        return ExternalIdentity.objects.count()


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_lets_nobody_in(lie: str, house: House, provider: Provider) -> None:
    set_up(house, provider)
    provider.signs_in("nora-1", lies=LIES[lie])
    browser, answer = arrive(house, provider)
    assert answer.status_code in {403, 502}, answer.content.decode()
    assert "_auth_user_id" not in browser.session
    assert identities(house) == 0


def test_the_truth_does(provider: Provider) -> None:
    """The control of all of the above."""
    house = fresh_house()
    set_up(house, provider)
    provider.signs_in("nora-1", aud=["keyturn-client", "b"], azp="keyturn-client")
    browser, _ = arrive(house, provider)
    assert "_auth_user_id" in browser.session
    assert identities(house) == 1


def test_an_issuer_that_publishes_another_name_is_not_asked(
    house: House, provider: Provider
) -> None:
    set_up(house, provider)
    provider.signs_in("nora-1", lies={"discovered": "https://evil.example"})
    answer = Client().get(address_of(house))
    assert (answer.status_code, "Location" in answer.headers) == (502, False)


def test_a_code_is_used_once(house: House, provider: Provider) -> None:
    """By the state that is used up, and, where that is forged anew, by the provider."""
    house = fresh_house()
    set_up(house, provider)
    provider.signs_in("nora-1")
    browser = Client()
    came_back = local(provider.answers(question(browser, address_of(house))))
    assert browser.get(came_back).status_code == 302
    assert browser.get(came_back).status_code == 400
    mallory = Client()
    state = (
        question(mallory, address_of(house)).partition("state=")[2].partition("&")[0]
    )
    mine = came_back.partition("state=")[2].partition("&")[0]
    assert mallory.get(came_back.replace(mine, state)).status_code == 502


def test_an_answer_in_another_browser_is_refused(
    house: House, provider: Provider
) -> None:
    """Nobody is signed in as somebody else by following a link."""
    set_up(house, provider)
    provider.signs_in("mallory-1")
    came_back = local(provider.answers(question(Client(), address_of(house))))
    assert Client().get(came_back).status_code == 400
    assert identities(house) == 0


def test_private_addresses_are_not_asked(
    house: House, provider: Provider, settings: Any
) -> None:
    set_up(house, provider)
    settings.ALLOW_PRIVATE = []
    answer = Client().get(address_of(house))
    assert answer.status_code == 502
    assert "address_refused" in answer.content.decode()


ELSEWHERE = (
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "evil",
    "/t/x\n/",
    "/t/x\0/",
)


def test_onward_leads_nowhere_else(provider: Provider) -> None:
    house = fresh_house()
    set_up(house, provider)
    provider.signs_in("nora-1")
    for there in ELSEWHERE:
        _, answer = arrive(house, provider, rest=f"?{urlencode({'next': there})}")
        assert answer.headers["Location"] == f"/t/{house.tenant.slug}/", there


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_begins_no_sign_in(
    site: str, house: House, provider: Provider
) -> None:
    """Else it signs people in as somebody whom it chose. What it asked for is kept."""
    set_up(house, provider)
    asked = address_of(house, "?link=abc&next=/t/x/")
    browser = Client()
    answer = browser.get(asked, headers={"sec-fetch-site": site})
    assert (answer.status_code, "Location" in answer.headers) == (200, False)
    assert flow.KEY not in browser.session
    assert answer.context["href"] == address_of(house, "?next=%2Ft%2Fx%2F&link=abc")
    ours = browser.get(
        answer.context["href"], headers={"sec-fetch-site": "same-origin"}
    )
    assert ours.status_code == 302
    (begun,) = browser.session[flow.KEY].values()
    assert (begun["link"], begun["onward"]) == ("abc", "/t/x/")


@pytest.mark.parametrize("slug", ["a\0b", "a b", "-", "a" * 500, "\u202ea", "'"])
def test_what_is_no_name_is_nobodys(slug: str) -> None:
    answer = Client().get("/accounts/sso/", {"slug": slug, "link": "a\0", "next": "/"})
    assert answer.status_code == 404
    assert "No tenant of that name" in answer.content.decode()
    assert (answer.context["slug"], answer.context["kept"]) == ("", {"next": "/"})


def test_an_address_of_no_tenant_asks_for_the_name() -> None:
    for slug in ("_", "UPPER", "no-such-tenant", "a" * 500):
        answer = Client().get(f"/accounts/sso/{slug}?link=abc")
        assert answer.status_code == 404
        assert 'name="link" value="abc"' in answer.content.decode()


def test_no_connection_is_held_while_the_provider_is_asked(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oversight.sso import provider as asking

    house = fresh_house()
    set_up(house, provider)
    provider.signs_in("nora-1")
    held = []

    def looking(*args: Any, **given: Any) -> Any:
        held.append(connection.connection is not None)
        return send(*args, **given)

    monkeypatch.setattr(asking, "send", looking)
    browser, _ = arrive(house, provider)
    assert "_auth_user_id" in browser.session
    assert len(held) >= 3  # what it publishes, the token, the keys
    assert not any(held)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Nora@Example.com", "nora@example.com"),
        (" nora@example.com ", "nora@example.com"),
        ("nora@", ""),
        ("@", ""),
        ("no\nra@example.com", ""),
        ("nora@exa\u202emple.com", ""),
        ("nora@example.com\0", ""),
        (f"{'n' * 60}@{'e.' * 96}com", ""),
        (["nora@example.com"], ""),
        (None, ""),
    ],
)
def test_only_an_address_is_an_address(said: object, kept: str) -> None:
    claims = {"iss": "https://id.example", "sub": "nora-1", "email": said}
    assert told_by(claims, "").email == kept
