"""`GET /api/v1/compat/…/{id}?wait=N`: the answers, or a wait for all of them.

A plain asynchronous view, like that of a single approval: while it waits it holds a
coroutine, and it authenticates again before it answers.
"""

import asyncio
import time
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import MethodNotAllowed, NotAcceptable

from approvals.compat import described
from approvals.compat.documents import interrupt_document
from approvals.compat.kinds import HITL, HUMAN, Shape
from approvals.wait.approval import UP_TO_LONGEST
from approvals.wait.hub import News, hub
from approvals.wait.places import places
from kernel.offload import offload
from kernel.scope import tenant_transaction
from sessions.serializers import Word
from tenants.authentication import authenticate_key
from tenants.principal import Principal
from tenants.rest.answers import json_response, json_text
from tenants.rest.exceptions import TOO_MANY, problems
from tenants.rest.refusals import refuses
from tenants.rest.strict import QuerySerializer
from tenants.rest.views import AgentView, require_scope
from tenants.scopes import READ


class InterruptQuery(QuerySerializer):
    """For how many seconds to wait, at most 60."""

    wait = Word(UP_TO_LONGEST, default="0")


class HITLView(AgentView):
    """What the OpenAPI document says of this door: it is no view of the framework."""

    @extend_schema(
        operation_id="get_hitl_response",
        parameters=[InterruptQuery],
        responses=described.HITLDocument,
        extensions=refuses(TOO_MANY),
    )
    def get(self, request: object, id: UUID) -> None:
        """Read the `HITLResponse`, or wait until people have answered every action."""


class HumanView(AgentView):
    """What the OpenAPI document says of this door: it is no view of the framework."""

    @extend_schema(
        operation_id="get_human_response",
        parameters=[InterruptQuery],
        responses=described.HumanDocument,
        extensions=refuses(TOO_MANY),
    )
    def get(self, request: object, id: UUID) -> None:
        """Read the `HumanResponse`, or wait until people have answered."""


@csrf_exempt  # so that any other method is told what this door is for
@problems
async def hitl_response(request: HttpRequest, id: UUID) -> HttpResponse:
    """The answer to a `HITLRequest`."""
    return await _answer(request, HITL, id)


@csrf_exempt
@problems
async def human_response(request: HttpRequest, id: UUID) -> HttpResponse:
    """The answer to a `HumanInterrupt`."""
    return await _answer(request, HUMAN, id)


# Where the document's generator looks for what it describes.
hitl_response.cls, hitl_response.initkwargs = HITLView, {}  # type: ignore[attr-defined]
human_response.cls, human_response.initkwargs = HumanView, {}  # type: ignore[attr-defined]


async def _answer(request: HttpRequest, shape: Shape, pause_id: UUID) -> HttpResponse:
    if request.method not in {"GET", "HEAD"}:
        error = MethodNotAllowed(str(request.method))
        error.allow = "GET, HEAD"  # type: ignore[attr-defined]
        raise error
    if not request.accepts("application/json"):
        raise NotAcceptable
    query = InterruptQuery.read(request.GET)
    credential = request.headers.get("Authorization")
    found = await _held(credential, shape, pause_id, int(query["wait"]))
    return json_response(200, json_text(found))


async def _held(
    credential: str | None, shape: Shape, pause_id: UUID, seconds: int
) -> dict[str, Any]:
    ends = time.monotonic() + seconds
    principal, over, document = await offload(_read, credential, shape, pause_id)
    if over or seconds == 0:
        return document
    topics = [f"{principal.tenant_id}:{one['id']}" for one in document["requests"]]
    with places.one(principal.key_id):
        async with hub().waiting(*topics) as news:
            while True:
                news.take()
                _, over, document = await offload(_read, credential, shape, pause_id)
                left = ends - time.monotonic()
                if over or left <= 0:
                    return document
                await _until(news, left)


async def _until(news: News, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return


def _read(
    credential: str | None, shape: Shape, pause_id: UUID
) -> tuple[Principal, bool, dict[str, Any]]:
    """Authenticate, authorise and read. Holds a thread and a connection for just that."""
    principal = authenticate_key(credential)
    require_scope(principal, READ)
    with tenant_transaction(principal.tenant_id):
        return (principal, *interrupt_document(shape, principal, pause_id))
