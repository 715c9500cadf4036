"""Pages without a tenant: signing in, choosing, errors, the first run."""

import pytest
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import Client
from django.urls import include, path

from oversight.sso.urls import PATHS as SIGN_ON

urlpatterns = [
    *SIGN_ON,
    path("accounts/", include("allauth.account.urls")),
    path("", lambda request: HttpResponse("")),
]
pytestmark = [pytest.mark.urls(__name__), pytest.mark.django_db]

OURS = b"components/frame.css"


@pytest.mark.parametrize(
    "page",
    ["login/", "password/reset/", "password/reset/done/", "inactive/", "signup/"],
)
def test_a_stranger_finds_our_own_pages(page: str) -> None:
    response = Client().get(f"/accounts/{page}")
    assert response.status_code == 200
    assert OURS in response.content


def test_a_used_link_says_what_did_not_happen() -> None:
    response = Client().get("/accounts/password/reset/key/1-abc/")
    assert b"Your password is as it was." in response.content


def test_errors_stand_beside_their_fields() -> None:
    response = Client().post("/accounts/login/", {"login": "nobody", "password": ""})
    html = response.content.decode()
    assert 'id="id_login_error"' in html
    assert 'aria-describedby="id_login_error"' in html
    assert 'id="id_password_error"' in html


def test_nothing_here_says_no_more_than_that() -> None:
    response = Client().get("/t/somebody-elses")
    assert response.status_code == 404
    assert b"There is nothing here" in response.content


def test_a_form_from_another_session_decides_nothing() -> None:
    response = Client(enforce_csrf_checks=True).post("/accounts/login/", {})
    assert response.status_code == 403
    assert b"Nothing was decided." in response.content


@pytest.mark.parametrize("code", ["403", "500", "503"])
def test_error_pages_need_no_context(code: str) -> None:
    assert "Go to the queue" in render_to_string(f"{code}.html")


def test_the_first_key_is_shown_with_what_it_is() -> None:
    html = render_to_string(
        "first_run.html", {"api_key": "kt_live_1", "agent": "a", "queue_href": "/q"}
    )
    assert "kt_live_1" in html
    assert "shown this once" in html


def test_who_belongs_nowhere_is_told_so() -> None:
    html = render_to_string("tenants/choose.html", {"memberships": []})
    assert "You belong to no tenant" in html
