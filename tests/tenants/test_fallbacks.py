"""What is answered when something failed outside of any view's care."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import InternalError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from kernel.problems import BUSY
from tests.tenants.test_authentication import problem

handler500 = "tenants.rest.fallbacks.server_error"


def failing(error: Exception) -> Callable[[HttpRequest], HttpResponse]:
    def view(request: HttpRequest) -> HttpResponse:
        raise error

    return view


FAILURES = {
    "away": OperationalError("connection refused: 10.0.0.7"),
    "busy": BUSY("The secret is 1234."),
    "wrong": RuntimeError("the secret is 1234"),
    "broken": InternalError("the secret is 1234"),
}
urlpatterns = [
    path(f"{prefix}{name}", failing(error))
    for name, error in FAILURES.items()
    for prefix in ("page/", "api/v1/")
]
pytestmark = pytest.mark.urls(__name__)


def answer(address: str) -> Any:
    return Client(raise_request_exception=False).get(address)


@pytest.mark.parametrize("name", ["away", "busy"])
def test_a_page_says_when_to_come_again(name: str) -> None:
    page = answer(f"/page/{name}")
    assert page.status_code == 503
    assert int(page["Retry-After"]) > 0
    assert page["Cache-Control"] == "no-store"
    assert b"Not available for a moment" in page.content


@pytest.mark.parametrize(("name", "code"), [("away", "unavailable"), ("busy", "busy")])
def test_so_does_the_api_wherever_it_failed(name: str, code: str) -> None:
    response = answer(f"/api/v1/{name}")
    problem(response, 503, code)
    assert int(response["Retry-After"]) > 0


@pytest.mark.parametrize("name", ["wrong", "broken"])
def test_what_will_not_pass_is_our_fault(name: str) -> None:
    assert answer(f"/page/{name}").status_code == 500
    problem(answer(f"/api/v1/{name}"), 500, "unexpected")


@pytest.mark.parametrize("name", ["away", "wrong", "broken"])
def test_neither_page_nor_problem_tells_what_was_raised(name: str) -> None:
    for prefix in ("page/", "api/v1/"):
        content = answer(f"/{prefix}{name}").content
        assert b"1234" not in content
        assert b"10.0.0.7" not in content
