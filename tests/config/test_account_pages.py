"""What of signing in can be reached: nobody becomes somebody else by their own hand."""

import re

import pytest
from django.test import Client

from tests.factories import fresh_user


def signed_in() -> Client:
    client = Client()
    client.force_login(
        fresh_user("Lea", password="correct horse battery"),
        backend="allauth.account.auth_backends.AuthenticationBackend",
    )
    return client


def test_signing_in_begins_with_the_address() -> None:
    text = Client().get("/accounts/login/").content.decode()
    (field,) = re.findall(r"<input[^>]* autofocus[^>]*>", text)
    assert 'name="login"' in field


@pytest.mark.parametrize("page", ["email/", "confirm-email/", "confirm-email/x/"])
def test_nobody_changes_the_address_that_they_are_invited_under(page: str) -> None:
    client = signed_in()
    assert client.get(f"/accounts/{page}").status_code == 404
    given = {"action_add": "", "email": "boss@example.test"}
    assert client.post(f"/accounts/{page}", given).status_code == 404


@pytest.mark.parametrize("page", ["password/reset/", "logout/"])
def test_a_page_that_shows_who_is_signed_in_is_kept_by_no_cache(page: str) -> None:
    answer = signed_in().get(f"/accounts/{page}")
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    assert "private" in answer.headers["Cache-Control"]


OWN = {
    "devices/": 200,
    "2fa/": 200,
    "2fa/webauthn/": 200,
    "2fa/totp/activate/": 302,  # to prove it again first
    "2fa/totp/deactivate/": 404,  # there is none
    "2fa/recovery-codes/": 404,
    "2fa/recovery-codes/generate/": 302,
    "2fa/webauthn/add/": 302,
    "2fa/webauthn/keys/1/remove/": 302,
    "2fa/webauthn/keys/1/edit/": 302,
}


@pytest.mark.parametrize("page", OWN)
def test_a_page_about_ones_own_sign_in_turns_strangers_away(page: str) -> None:
    for ask in (Client().get, Client().post):
        answer = ask(f"/accounts/{page}")
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith("/accounts/login/?next=")


@pytest.mark.parametrize("page", OWN)
def test_a_page_about_ones_own_sign_in_is_kept_by_no_cache(page: str) -> None:
    answer = signed_in().get(f"/accounts/{page}")
    assert answer.status_code == OWN[page]
    if answer.status_code == 200:
        assert "no-store" in answer.headers["Cache-Control"]
        assert b"components/frame.css" in answer.content


@pytest.mark.parametrize(
    "page", ["2fa/webauthn/login/", "2fa/webauthn/signup/", "2fa/trust/"]
)
def test_no_way_in_is_open_that_was_not_decided_for(page: str) -> None:
    assert Client().get(f"/accounts/{page}").status_code == 404
