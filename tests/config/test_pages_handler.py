"""Pages go to a thread once, and each to one of its own."""

import asyncio
import re
import threading
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path

from config.waiting import Handler, is_page
from tests.approvals.wait.asynchronous import on_a_loop

MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
MEETING = threading.Barrier(2)
THREADS: list[int] = []


def meet(request: HttpRequest) -> HttpResponse:
    """Answered once another is here, which takes a thread for each."""
    MEETING.wait(10)
    return HttpResponse("met")


def noted(request: HttpRequest) -> HttpResponse:
    THREADS.append(threading.get_ident())
    return HttpResponse(str(request.user))  # type: ignore[attr-defined]


class Noting:
    """A middleware that tells on which thread it was."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> Any:
        THREADS.append(threading.get_ident())
        return self.get_response(request)


urlpatterns = [path("meet", meet), path("noted", noted)]


def test_two_are_answered_at_once() -> None:
    async def both() -> list[int]:
        handler = Handler()
        answers = await asyncio.gather(*(call(handler, "/meet") for _ in range(2)))
        return [status for status, _, _ in answers]

    with override_settings(ROOT_URLCONF=__name__):
        assert on_a_loop(both()) == [200, 200]


def test_middleware_and_view_are_on_one_thread() -> None:
    with override_settings(
        ROOT_URLCONF=__name__, MIDDLEWARE=[f"{__name__}.Noting", *MIDDLEWARE]
    ):
        assert on_a_loop(call(Handler(), "/noted"))[0] == 200
    before, within = THREADS
    assert before == within != threading.get_ident()


ASKED = [
    ("GET", "/accounts/login/", 200),
    ("GET", "/", 302),
    ("GET", "/nowhere", 404),
    ("GET", "/t/nobody/queue", 302),
    ("POST", "/accounts/login/", 403),  # no token of the form
    ("GET", "/api/v1/runs", 401),
    ("PUT", "/api/v1/approvals", 401),
]
OWN = re.compile(rb'value="[^"]{64}"')
OWN_HEADERS = {b"set-cookie", b"x-request-id", b"expires"}


@pytest.mark.parametrize(("method", "where", "status"), ASKED)
def test_the_answer_is_the_one_that_djangos_own_handler_gives(
    method: str, where: str, status: int
) -> None:
    told = [on_a_loop(call(kind(), where, method)) for kind in (ASGIHandler, Handler)]
    assert told[0] == told[1]
    assert told[0][0] == status


@pytest.mark.parametrize(
    ("where", "there"),
    [
        ("/accounts/login/", True),
        ("/nowhere", True),
        ("/t/somebody/queue", True),
        ("/t/somebody/stream", False),
        ("/static/js/live.js", False),
        ("/t/somebody/audit/export", False),
    ],
)
def test_what_waits_or_flows_holds_no_thread(where: str, there: bool) -> None:
    assert is_page({"path": where}) == there


async def call(
    handler: ASGIHandler, where: str, method: str = "GET"
) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Status, headers and body, but for what differs each time."""
    sent: list[dict[str, Any]] = []
    heard = [{"type": "http.request"}]

    async def receive() -> dict[str, Any]:
        return heard.pop() if heard else await asyncio.Event().wait()  # type: ignore[return-value]

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1")]
    scope = {"type": "http", "method": method, "path": where, "headers": headers}
    await handler({**scope, "query_string": b""}, receive, send)  # type: ignore[arg-type]
    told = [(name.lower(), value) for name, value in sent[0]["headers"]]
    same = sorted(one for one in told if one[0] not in OWN_HEADERS)
    body = b"".join(one["body"] for one in sent[1:])
    return sent[0]["status"], same, OWN.sub(b"", body)
