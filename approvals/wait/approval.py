"""`GET /api/v1/approvals/{id}?wait=N&until=decided|done`: read it, or wait for it.

A plain asynchronous view: while it waits it holds a coroutine. It authenticates
before it waits and again before it answers, so a key that was revoked meanwhile
learns nothing.
"""

import asyncio
import math
import time
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseNotModified
from django.utils.cache import patch_cache_control
from django.utils.http import parse_etags
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import MethodNotAllowed, NotAcceptable

from approvals.api.described import KNOWN, ApprovalDocument
from approvals.reading import Snapshot, as_json, own_snapshot
from approvals.wait.hub import News, hub
from approvals.wait.pace import Pace
from approvals.wait.places import places
from kernel.canonical import digest
from kernel.offload import offload
from kernel.scope import tenant_transaction
from sessions.serializers import Word
from tenants.authentication import authenticate_key
from tenants.models import Tenant
from tenants.principal import Principal
from tenants.rest.answers import json_response, json_text
from tenants.rest.exceptions import TOO_MANY, problems
from tenants.rest.refusals import refuses
from tenants.rest.strict import QuerySerializer
from tenants.rest.views import AgentView, require_scope
from tenants.scopes import READ

LONGEST: Final = 60  # seconds
UP_TO_LONGEST: Final = "[0-9]|[1-5][0-9]|60"
pace: Final = Pace()


class WaitQuery(QuerySerializer):
    """For how many seconds to wait, at most 60, and for what."""

    wait = Word(UP_TO_LONGEST, default="0")
    until = serializers.ChoiceField(["decided", "done"], default="done")


class ApprovalView(AgentView):
    """What the OpenAPI document says of this door: it is no view of the framework."""

    @extend_schema(
        operation_id="get_approval",
        parameters=[WaitQuery, KNOWN],
        responses={200: ApprovalDocument, 304: None},
        extensions=refuses(TOO_MANY),
    )
    def get(self, request: object, id: UUID) -> None:
        """Read an approval, or wait for it.

        With `wait` the answer comes when it is `until`, or after so many seconds with
        what there is. `done` is also reached when the next move is the agent's own.
        """


@csrf_exempt  # so that any other method is told what this door is for
@problems
async def approval(request: HttpRequest, id: UUID) -> HttpResponse:
    """Answer at once, or when the request is `until`, or after `wait` seconds."""
    _check_door(request)
    credential = request.headers.get("Authorization")
    query = WaitQuery.read(request.GET)
    if query["wait"] == "0":
        _check_pace(credential)
    document = await _wait(credential, id, int(query["wait"]), query["until"])
    return _answer(request, document)


# Where the document's generator looks for what it describes.
approval.cls, approval.initkwargs = ApprovalView, {}  # type: ignore[attr-defined]


def _check_door(request: HttpRequest) -> None:
    if request.method not in {"GET", "HEAD"}:
        error = MethodNotAllowed(str(request.method))
        error.allow = "GET, HEAD"  # type: ignore[attr-defined]
        raise error
    if not request.accepts("application/json"):
        raise NotAcceptable


def _check_pace(credential: str | None) -> None:
    late = pace.delay(hash(credential))
    if late:
        detail = "Ask with `wait`, and be answered as soon as there is something new."
        raise TOO_MANY(detail, retry_after=math.ceil(late))


async def _wait(
    credential: str | None, request_id: UUID, seconds: int, until: str
) -> dict[str, Any]:
    if not seconds:
        return (await offload(_read, credential, request_id))[1]
    deadline = time.monotonic() + seconds
    principal = await offload(_authenticated, credential)
    topic = f"{principal.tenant_id}:{request_id}"
    with places.one(principal.key_id):
        async with hub().waiting(topic) as news:
            while True:
                news.take()
                found, document = await offload(_read, credential, request_id)
                left = deadline - time.monotonic()
                if _is_reached(found, until) or left <= 0:
                    return document
                await _until(news, left)


async def _until(news: News, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return


def _is_reached(found: Snapshot, until: str) -> bool:
    """`done` is also reached when the next move is the agent's own."""
    if until == "decided":
        return found.is_decided or found.request.state == "changes_requested"
    return (
        found.is_resolved
        or found.is_redeemable
        or found.request.state == "changes_requested"
    )


def _authenticated(credential: str | None) -> Principal:
    """Who asks; may they read at all. Holds a thread and a connection for just that."""
    principal = authenticate_key(credential)
    require_scope(principal, READ)
    return principal


def _read(credential: str | None, request_id: UUID) -> tuple[Snapshot, dict[str, Any]]:
    """Authenticate, authorise and read; each time anew, and held no longer."""
    principal = _authenticated(credential)
    with tenant_transaction(principal.tenant_id):
        found = own_snapshot(principal, request_id)
        names = Tenant.objects.values_list("names_deciders", flat=True).get()
        return found, as_json(found, names_deciders=names)


def _answer(request: HttpRequest, document: dict[str, Any]) -> HttpResponse:
    tag = f'"{digest("keyturn/etag/v1", document).hex()[:32]}"'
    if _knows(request, tag):
        response: HttpResponse = HttpResponseNotModified()
    else:
        response = json_response(200, json_text(document))
        del response["Cache-Control"]
    response["ETag"] = tag
    patch_cache_control(response, private=True, no_cache=True)
    return response


def _knows(request: HttpRequest, tag: str) -> bool:
    known = parse_etags(request.headers.get("If-None-Match", ""))
    return any(one.removeprefix("W/") == tag for one in known)
