"""`GET /api/v1/events`: what happens to the agent's own work, as it happens.

Server-sent events whose id is the number of the audit entry. Numbers follow the order
of commits, so that whoever comes back with `Last-Event-ID` has missed nothing. An open
stream holds a coroutine, neither a thread nor a connection, and its key is looked at
again before anything is written.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import MethodNotAllowed

from approvals.happenings import (
    KINDS,
    SOMETIMES,
    Happening,
    Surroundings,
    happening,
    type_of,
)
from approvals.wait.hub import News, hub
from approvals.wait.places import places
from kernel.offload import offload
from kernel.problems import Problem, declare
from kernel.scope import tenant_transaction
from tenants.authentication import authenticate_key
from tenants.principal import Principal
from tenants.rest.exceptions import TOO_MANY, problems
from tenants.rest.refusals import refuses
from tenants.rest.strict import QuerySerializer
from tenants.rest.views import AgentView, require_scope
from tenants.scopes import READ

HEARTBEAT: Final = 15.0  # seconds; also the longest that a lost right is not noticed
GATHER: Final = 0.05  # seconds: what happens together is read together
RETRY: Final = 2_000  # milliseconds that a client waits before it connects again
ENTRIES: Final = 500  # of the log, at a time
LAST_SEEN: Final = "Last-Event-ID"
MALFORMED: Final = declare(
    "last_event_id_malformed", status=400, title=f"{LAST_SEEN} is the id of an event"
)

_HEAD: Final = "SELECT seq FROM audit_head WHERE tenant_id = %s"
_SINCE: Final = """
SELECT seq, id, at, kind, actor_type, subject_type, subject_id, data::text
FROM audit_entry
WHERE tenant_id = %s AND seq > %s AND seq <= %s AND kind = ANY(%s)
ORDER BY seq LIMIT %s
"""


class EventsView(AgentView):
    """What the OpenAPI document says of this door: it is no view of the framework."""

    @extend_schema(
        operation_id="stream_events",
        parameters=[
            OpenApiParameter(
                name=LAST_SEEN,
                type=int,
                location=OpenApiParameter.HEADER,
                description="The last `id` that was seen: what follows it comes first."
                " Without it the stream begins now; 0 tells everything from the start.",
            )
        ],
        responses={
            (200, "text/event-stream"): OpenApiResponse(
                OpenApiTypes.STR,
                "`id` (a whole number), `event` (a type) and `data`: JSON with `id`,"
                " `type`, `timestamp` and `data`, as in a webhook's message.",
            )
        },
        extensions=refuses(TOO_MANY, MALFORMED),
    )
    def get(self, request: object) -> None:
        """Follow what happens to the agent's runs and approvals, until hung up.

        At least once and in order. It ends when the key may not read any more.
        """


@csrf_exempt  # so that any other method is told what this door is for
@problems
async def events(request: HttpRequest) -> StreamingHttpResponse:
    """The stream, from `Last-Event-ID` or from now on."""
    _check_method(request)
    QuerySerializer.read(request.GET)
    credential = request.headers.get("Authorization")
    principal, begin = await offload(_begin, credential, request.headers.get(LAST_SEEN))
    told = _stream(credential, principal, begin)
    first = await anext(told)  # whoever holds too many is told so with a status
    response = StreamingHttpResponse(
        _after(first, told), content_type="text/event-stream"
    )
    response["X-Accel-Buffering"] = "no"
    response["Cache-Control"] = "private, no-store"
    return response


# Where the document's generator looks for what it describes.
events.cls, events.initkwargs = EventsView, {}  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What to write, and the number of the last entry that was looked at."""

    text: str
    seen: int
    more: bool


def _check_method(request: HttpRequest) -> None:
    if request.method != "GET":
        error = MethodNotAllowed(str(request.method))
        error.allow = "GET"  # type: ignore[attr-defined]
        raise error


async def _after(first: str, told: AsyncGenerator[str]) -> AsyncIterator[str]:
    async with aclosing(told):  # its place is free as soon as somebody hangs up
        yield first
        async for text in told:
            yield text


async def _stream(
    credential: str | None, principal: Principal, seen: int
) -> AsyncGenerator[str]:
    """Register, look, tell, wait; and end as soon as the key may not read any more."""
    topic = f"{principal.tenant_id}:{principal.tenant_id}"
    with places.one(principal.key_id):
        yield f"retry: {RETRY}\n\n"
        async with hub().waiting(topic) as news:
            while True:
                news.take()
                try:
                    part = await offload(_read, credential, seen)
                except Problem:
                    return
                seen = part.seen
                yield part.text or ": \n\n"
                if not part.more:
                    await _next(news)


async def _next(news: News) -> None:
    try:
        async with asyncio.timeout(HEARTBEAT):
            await news.wait()
    except TimeoutError:
        return
    await asyncio.sleep(GATHER)


def _begin(credential: str | None, last_seen: str | None) -> tuple[Principal, int]:
    """Who listens, and from where: a number past the log's end is one of another log."""
    principal = _authorised(credential)
    if last_seen is not None and not re.fullmatch("[0-9]{1,18}", last_seen):
        raise MALFORMED(f"{last_seen[:20]!r} is not a whole number.")
    with tenant_transaction(principal.tenant_id):
        head = _head(principal)
    return principal, head if last_seen is None else min(int(last_seen), head)


def _authorised(credential: str | None) -> Principal:
    principal = authenticate_key(credential)
    require_scope(principal, READ)
    return principal


def _read(credential: str | None, seen: int) -> Part:
    """Authorise, then read what followed. Raises a `Problem` for who may not."""
    principal = _authorised(credential)
    with tenant_transaction(principal.tenant_id):
        # Whatever has a number up to the head is committed: there are no gaps.
        head = _head(principal)
        rows = _entries(principal, seen, head)
        found = [event for row in rows if (event := _event(row))]
        around = Surroundings(event for _, _, event in found)
        text = "".join(
            _told(seq, at, event, around)
            for seq, at, event in found
            if around.agent_of(event) == principal.agent_id
        )
    more = len(rows) == ENTRIES
    return Part(text=text, seen=rows[-1][0] if more else max(seen, head), more=more)


def _head(principal: Principal) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_HEAD, [principal.tenant_id])
        row = cursor.fetchone()
        return int(row[0]) if row else 0


def _entries(principal: Principal, seen: int, head: int) -> list[tuple[Any, ...]]:
    if seen >= head:
        return []
    kinds = [*KINDS, *SOMETIMES]
    with connection.cursor() as cursor:
        cursor.execute(_SINCE, [principal.tenant_id, seen, head, kinds, ENTRIES])
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def _event(row: tuple[Any, ...]) -> tuple[int, str, Happening] | None:
    seq, id, at, kind, actor_type, about, about_id, text = row
    data = json.loads(text)
    type = type_of(kind, actor_type, data)
    if type is None:
        return None
    return seq, at.isoformat(), happening(id, type, (about, about_id), data)


def _told(seq: int, at: str, event: Happening, around: Surroundings) -> str:
    said = {"id": str(event.id), "type": event.type, "timestamp": at}
    body = json.dumps({**said, "data": around.describe(event)})
    return f"id: {seq}\nevent: {event.type}\ndata: {body}\n\n"
