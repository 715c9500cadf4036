"""Those who wait have a short way in, and notice no difference."""

import asyncio
from typing import Any

import pytest
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.test import override_settings

from config.waiting import Handler, only_waits
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.wait.asynchronous import on_a_loop

LEFT_OUT = {  # they serve browsers, and touch no answer to a key
    "config.static_files.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
}
CONCERN_ALL = [
    "tenants.middleware.name_requests",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]


@pytest.fixture(scope="module")
def stage() -> Stage:
    return fresh_stage()


def test_whoever_adds_a_middleware_says_whether_it_concerns_those_who_wait() -> None:
    assert [one for one in settings.MIDDLEWARE if one not in LEFT_OUT] == CONCERN_ALL


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize(
    ("status", "said"),
    [
        (200, {}),
        (304, {"if-none-match": "the tag"}),
        (400, {"host": "elsewhere.example"}),
        (400, {"query": "until=never"}),
        (401, {"authorization": "Bearer kt_test_x"}),
        (404, {"id": "00000000-0000-4000-8000-000000000000"}),
        (405, {"path": "/api/aap/v1/requests/{id}", "method": "HEAD"}),
        (406, {"accept": "text/html"}),
    ],
)
def test_the_answer_is_the_one_that_djangos_own_handler_gives(
    stage: Stage, status: int, said: dict[str, str], secure: bool
) -> None:
    request = stage.ask()
    with override_settings(SECURE_SSL_REDIRECT=secure, SECURE_HSTS_SECONDS=60 * secure):
        told = [
            on_a_loop(answer(kind(), stage, str(request.id), dict(said)))
            for kind in (ASGIHandler, Handler)
        ]
    assert told[0] == told[1]
    assert told[0][0] == (301 if secure and "host" not in said else status), told[0]


async def answer(
    handler: ASGIHandler, stage: Stage, id: str, said: dict[str, str]
) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Status, headers and body; one that is known is asked for its tag first."""
    if "if-none-match" in said:
        _, headers, _ = await answer(handler, stage, id, {})
        said["if-none-match"] = dict(headers).get(b"etag", b"").decode()
    sent: list[dict[str, Any]] = []
    heard = [{"type": "http.request"}]

    async def receive() -> dict[str, Any]:
        return heard.pop() if heard else await asyncio.Event().wait()  # type: ignore[return-value]

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = scope_of(stage, id, said)
    assert only_waits(scope)
    await handler(scope, receive, send)  # type: ignore[arg-type]
    headers = sorted((name.lower(), value) for name, value in sent[0]["headers"])
    return sent[0]["status"], headers, b"".join(one["body"] for one in sent[1:])


def scope_of(stage: Stage, id: str, said: dict[str, str]) -> dict[str, Any]:
    path = said.pop("path", "/api/v1/approvals/{id}").format(id=said.pop("id", id))
    headers = {
        "host": "127.0.0.1",
        "authorization": f"Bearer {stage.house.robot.text}",
        "x-request-id": "the-same-for-both",
    }
    return {
        "type": "http",
        "method": said.pop("method", "GET"),
        "path": path,
        "query_string": said.pop("query", "").encode(),
        "headers": [
            (name.encode(), value.encode()) for name, value in (headers | said).items()
        ],
    }
