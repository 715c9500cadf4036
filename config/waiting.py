"""Requests that mostly wait: no thread of their own, and a short way in.

Django's handler runs its signals and each half of most middleware on a thread. Thousands
of agents that come to wait would each hold one until they are read for the first time,
and pay for a dozen hops to threads that do nothing for them. The doors named here are
coroutines from end to end, and know keys alone: no session, no form, no static file.

Pages and calls that an ordinary function answers need that thread anyway: they go there
once, and stay until they are answered.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csp import ContentSecurityPolicyMiddleware
from django.middleware.security import SecurityMiddleware
from django.urls import Resolver404, resolve

from tenants.middleware import name_requests

_DOORS: Final = re.compile(
    r"/api/(?:v1/(?:events|(?:approvals|compat/[a-z-]+)/[0-9a-f-]{36})"
    r"|aap/v1/requests/[0-9a-f-]{36})"
)

type Scope = dict[str, Any]
type Receive = Callable[[], Awaitable[Any]]
type Send = Callable[[Any], Awaitable[None]]
type Next = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


def only_waits(scope: Scope) -> bool:
    """Whether it asks at one of the doors that hold whoever reads there."""
    reads = scope.get("method") in {"GET", "HEAD"}
    return reads and _DOORS.fullmatch(scope.get("path", "")) is not None


class Handler(ASGIHandler):
    """Django's own, but for those who wait."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting = WaitingHandler()
        self._pages = PagesHandler()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and only_waits(scope):
            await self._waiting.handle(scope, receive, send)
        elif scope["type"] == "http" and is_page(scope):
            await self._pages(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def is_page(scope: Scope) -> bool:
    """Whether an ordinary function answers there, on a thread."""
    path = scope.get("path", "")
    if path.startswith(settings.STATIC_URL):
        return False
    try:
        return not iscoroutinefunction(resolve(path).func)
    except Resolver404:
        return True


class PagesHandler(ASGIHandler):
    """Middleware and view one after the other on the request's thread, in one hop."""

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        answer: HttpResponseBase = await sync_to_async(self.get_response)(request)
        return answer


class WaitingHandler(ASGIHandler):
    """Of `settings.MIDDLEWARE`, what concerns every answer: names, hosts and headers."""

    def load_middleware(self, is_async: bool = True) -> None:
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        inner = self._get_response_async  # type: ignore[attr-defined]
        handler = convert_exception_to_response(inner)
        for middleware in reversed(MIDDLEWARE):
            handler = convert_exception_to_response(middleware(handler))
        self._middleware_chain = handler


def on_the_loop(middleware: Any) -> Callable[[Next], Next]:
    """A middleware both of whose halves look at headers and at nothing else."""

    def made(get_response: Next) -> Next:
        halves = middleware(get_response)

        async def both(request: HttpRequest) -> HttpResponseBase:
            early = before(request) if (before := _half(halves, "request")) else None
            response = early or await get_response(request)
            after = _half(halves, "response")
            answer: HttpResponseBase = after(request, response) if after else response
            return answer

        return both

    return made


def _half(halves: Any, name: str) -> Callable[..., Any] | None:
    return getattr(halves, f"process_{name}", None)


MIDDLEWARE: Final = (
    name_requests,
    on_the_loop(SecurityMiddleware),
    on_the_loop(ContentSecurityPolicyMiddleware),
    on_the_loop(CommonMiddleware),
    on_the_loop(XFrameOptionsMiddleware),
)
