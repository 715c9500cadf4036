"""What of signing in can be reached: nobody becomes somebody else by their own hand."""

import pytest
from django.test import Client

from tests.factories import fresh_user


def signed_in() -> Client:
    client = Client()
    client.force_login(
        fresh_user("Lea"), backend="allauth.account.auth_backends.AuthenticationBackend"
    )
    return client


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
