"""`GET /api/v1/approvals/{id}?wait=N&until=decided|done`: read it, or wait for it.

A plain asynchronous view: while it waits it holds a coroutine. It authenticates
before it waits and again before it answers, so a key that was revoked meanwhile
learns nothing.
"""

import asyncio
import time
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.cache import patch_cache_control

from approvals.reading import Snapshot, as_json, own_snapshot
from approvals.wait.hub import hub
from kernel.canonical import digest
from kernel.offload import offload
from kernel.problems import Problem, declare
from kernel.scope import tenant_transaction
from tenants.authentication import authenticate_key
from tenants.models import Tenant
from tenants.principal import Principal
from tenants.rest.answers import problem_response

LONGEST: Final = 60  # seconds
LOOK_AGAIN: Final = 5.0  # seconds: what a lost notification may cost
WAIT_INVALID = declare(
    "wait_invalid", status=400, title="This is not how long one can wait"
)


async def approval(request: HttpRequest, id: UUID) -> HttpResponse:
    """Answer at once, or when the request is `until`, or after `wait` seconds."""
    try:
        seconds, until = _asked(request)
        document = await _wait(request.headers.get("Authorization"), id, seconds, until)
    except Problem as problem:
        return problem_response(problem)
    return _answer(request, document)


def _asked(request: HttpRequest) -> tuple[int, str]:
    until = request.GET.get("until", "done")
    if until not in {"decided", "done"}:
        raise WAIT_INVALID("`until` is decided or done.")
    wait = request.GET.get("wait", "0")
    if not (wait.isascii() and wait.isdigit() and len(wait) < 4):
        raise WAIT_INVALID("`wait` is a number of seconds.")
    return min(int(wait), LONGEST), until


async def _wait(
    header: str | None, request_id: UUID, seconds: int, until: str
) -> dict[str, object]:
    deadline = time.monotonic() + seconds
    principal, found, document = await _read(header, request_id)
    if seconds == 0 or _is_reached(found, until):
        return document
    async with hub().waiting(f"{principal.tenant_id}:{request_id}") as changed:
        while True:
            changed.clear()
            _, found, document = await _read(header, request_id)
            left = deadline - time.monotonic()
            if _is_reached(found, until) or left <= 0:
                return document
            await _until(changed, min(left, LOOK_AGAIN))


async def _until(changed: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
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


async def _read(
    header: str | None, request_id: UUID
) -> tuple[Principal, Snapshot, dict[str, object]]:
    """In a thread and a connection that are held for this moment only."""
    return await offload(_read_now, header, request_id)


def _read_now(
    header: str | None, request_id: UUID
) -> tuple[Principal, Snapshot, dict[str, object]]:
    """Authenticate, authorise and read, in one short transaction."""
    principal = authenticate_key(header)
    with tenant_transaction(principal.tenant_id):
        found = own_snapshot(principal, request_id)
        names = Tenant.objects.values_list("names_deciders", flat=True).get()
        return principal, found, as_json(found, names_deciders=names)


def _answer(request: HttpRequest, document: dict[str, object]) -> HttpResponse:
    tag = f'"{digest("keyturn/etag/v1", document).hex()[:32]}"'
    if request.headers.get("If-None-Match") == tag:
        response: HttpResponse = HttpResponse(status=304)
    else:
        response = JsonResponse(document)
    response["ETag"] = tag
    patch_cache_control(response, private=True, no_cache=True)
    return response
