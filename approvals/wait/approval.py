"""`GET /api/v1/approvals/{id}?wait=N&until=decided|done`: read it, or wait for it.

A plain asynchronous view: while it waits it holds a coroutine. It authenticates
before it waits and again before it answers, so a key that was revoked meanwhile
learns nothing.
"""

import asyncio
import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
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
from approvals.problems import NOT_FOUND
from approvals.reading import Snapshot, as_json, own_snapshots
from approvals.wait.claims import claimed, readers
from approvals.wait.hub import News, hub
from approvals.wait.pace import Pace
from approvals.wait.places import places
from kernel.canonical import digest
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from kernel.together import Together
from sessions.serializers import Word
from tenants.authentication import Claim
from tenants.models import Tenant
from tenants.principal import Principal
from tenants.rest.answers import json_response, json_text
from tenants.rest.exceptions import TOO_MANY, problems
from tenants.rest.refusals import refuses
from tenants.rest.strict import QuerySerializer
from tenants.rest.views import AgentView

LONGEST: Final = 60  # seconds
UP_TO_LONGEST: Final = "[0-9]|[1-5][0-9]|60"
pace: Final = Pace()

type Asked = tuple[Claim, UUID]


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
    reading = await _wait(credential, id, int(query["wait"]), query["until"])
    return _answer(request, reading)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A request at one moment, and the answer that tells of it."""

    found: Snapshot
    text: str
    tag: str


type Told = dict[tuple[UUID, UUID], Reading | Exception]


async def _wait(
    credential: str | None, request_id: UUID, seconds: int, until: str
) -> Reading:
    deadline = time.monotonic() + seconds
    claim = await claimed(credential)
    if not seconds:
        return await readings.ask(claim.tenant_id, (claim, request_id))
    topic = f"{claim.tenant_id}:{request_id}"
    with places.one(claim.key_id):
        async with hub().waiting(topic) as news:
            while True:
                news.take()
                now = await readings.ask(claim.tenant_id, (claim, request_id))
                left = deadline - time.monotonic()
                if _is_reached(now.found, until) or left <= 0:
                    return now
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


def _read(tenant_id: UUID, asked: list[Asked]) -> dict[Asked, Reading | Exception]:
    """Authenticate, authorise and read; each time anew, for all who ask now."""
    who = readers(tenant_id, {claim for claim, _ in asked})
    may = {
        (reader.agent_id, id)
        for claim, id in asked
        if isinstance(reader := who[claim], Principal)
    }
    told = _told(tenant_id, may) if may else {}
    return {(claim, id): _outcome(who[claim], id, told) for claim, id in asked}


readings: Final = Together(_read)


def _outcome(reader: Principal | Problem, id: UUID, told: Told) -> Reading | Exception:
    if isinstance(reader, Problem):
        return reader
    return told.get((reader.agent_id, id)) or NOT_FOUND("No such request.")


def _told(tenant_id: UUID, asked: Collection[tuple[UUID, UUID]]) -> Told:
    """By agent and id, those of these requests that are the agent's own."""
    with tenant_transaction(tenant_id):
        names = Tenant.objects.values_list("names_deciders", flat=True).get()
        own = own_snapshots(asked)
    return {pair: _reading(found, names) for pair, found in own.items()}


def _reading(found: Snapshot, names_deciders: bool) -> Reading | Exception:
    """One that cannot be told keeps nobody from theirs."""
    try:
        document = as_json(found, names_deciders=names_deciders)
        tag = f'"{digest("keyturn/etag/v1", document).hex()[:32]}"'
        return Reading(found=found, text=json_text(document), tag=tag)
    except Exception as error:
        return error


def _answer(request: HttpRequest, reading: Reading) -> HttpResponse:
    tag = reading.tag
    if _knows(request, tag):
        response: HttpResponse = HttpResponseNotModified()
    else:
        response = json_response(200, reading.text)
        del response["Cache-Control"]
    response["ETag"] = tag
    patch_cache_control(response, private=True, no_cache=True)
    return response


def _knows(request: HttpRequest, tag: str) -> bool:
    known = parse_etags(request.headers.get("If-None-Match", ""))
    return any(one.removeprefix("W/") == tag for one in known)
