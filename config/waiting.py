"""Requests that mostly wait are given no thread of their own.

Django's handler runs its signals on a thread that belongs to one request. Of five thousand
agents that come to wait at once, each would hold one until it is read for the first time.
The doors named here are coroutines from end to end: what little they run on a thread, all
of them run on the same one.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

from django.core.handlers.asgi import ASGIHandler

_DOORS: Final = re.compile(
    r"/api/(?:v1/(?:events|(?:approvals|compat/[a-z-]+)/[0-9a-f-]{36})"
    r"|aap/v1/requests/[0-9a-f-]{36})"
)

type Scope = dict[str, Any]


def only_waits(scope: Scope) -> bool:
    """Whether it asks at one of the doors that hold whoever reads there."""
    reads = scope.get("method") in {"GET", "HEAD"}
    return reads and _DOORS.fullmatch(scope.get("path", "")) is not None


class Handler(ASGIHandler):
    """Django's own, but for those who wait."""

    async def __call__(
        self,
        scope: Scope,
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        if scope["type"] == "http" and only_waits(scope):
            await self.handle(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)
