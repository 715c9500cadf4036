"""A name for each request, in every log line and in the answer."""

import re
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import Any, Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from structlog.contextvars import bound_contextvars

from kernel.ids import new_id

HEADER: Final = "X-Request-ID"

_ACCEPTABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,127}")


@sync_and_async_middleware
def name_requests(get_response: Callable[[HttpRequest], Any]) -> Any:
    """Middleware: `X-Request-ID` in and out, `request_id` in the log's context.

    A caller's own id is kept if it is 8 to 128 plain characters; it proves nothing.
    """
    if iscoroutinefunction(get_response):
        return _asynchronous(get_response)

    def middleware(request: HttpRequest) -> HttpResponseBase:
        name = _name(request)
        with bound_contextvars(request_id=name):
            return _named(get_response(request), name)

    return middleware


def _asynchronous(
    get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]],
) -> Callable[[HttpRequest], Awaitable[HttpResponseBase]]:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        name = _name(request)
        with bound_contextvars(request_id=name):
            return _named(await get_response(request), name)

    return middleware


def _name(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "")
    return given if _ACCEPTABLE.fullmatch(given) else new_id().hex


def _named(response: HttpResponseBase, name: str) -> HttpResponseBase:
    response[HEADER] = name
    return response
