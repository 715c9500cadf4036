"""The protocol's addresses, on our verbs. The credential is an agent's own API key."""

import asyncio
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from structlog.contextvars import get_contextvars

from approvals.aap.bodies import (
    INVALID,
    read_key,
    read_outcome,
    read_submission,
    seconds_of,
)
from approvals.aap.documents import is_terminal, request_text
from approvals.services.aap import cancel, own, report, submit, use
from approvals.wait.hub import hub
from approvals.wait.places import places
from kernel.offload import offload
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.authentication import authenticate_key
from tenants.principal import Principal
from tenants.rest.answers import RETRY_AFTER, json_text
from tenants.rest.exceptions import METHOD, problem_of
from tenants.rest.views import require_scope
from tenants.scopes import APPROVALS, EFFECTS, READ

LONGEST: Final = 30  # seconds
TYPES: Final = {
    401: "authentication",
    403: "authorization",
    404: "not_found",
    409: "conflict",
    410: "not_found",
    429: "rate_limit",
    500: "internal",
    503: "dependency",
}

type Answering = Callable[..., Any]


def answering(view: Answering) -> Answering:
    """Let whatever is raised become the protocol's error."""

    @csrf_exempt
    @wraps(view)
    async def answered(request: HttpRequest, **given: UUID) -> HttpResponse:
        try:
            answer: HttpResponse = await view(request, **given)
        except Exception as error:
            return _refused(problem_of(error))
        return answer

    return answered


@answering
async def requests(request: HttpRequest) -> HttpResponse:
    """POST /v1/requests."""
    _require(request, "POST")
    return await offload(_submit, request)


@answering
async def one(request: HttpRequest, id: UUID) -> HttpResponse:
    """GET /v1/requests/{id}[?wait=25s], DELETE /v1/requests/{id}."""
    _require(request, "GET", "DELETE")
    if request.method == "DELETE":
        return await offload(_cancel, request, id)
    return await _wait(request, id)


@answering
async def consumption(request: HttpRequest, id: UUID) -> HttpResponse:
    """POST /v1/requests/{id}/consume."""
    _require(request, "POST")
    return await offload(_consume, request, id)


@answering
async def outcome(request: HttpRequest, id: UUID) -> HttpResponse:
    """POST /v1/requests/{id}/outcome."""
    _require(request, "POST")
    return await offload(_report, request, id)


def _submit(request: HttpRequest) -> HttpResponse:
    principal = _caller(request, APPROVALS)
    key = read_key(request.headers.get("Idempotency-Key"))
    known, new = submit(principal, read_submission(request.body), key=key)
    return _answer(_text(principal, known.request_id), 201 if new else 200)


def _cancel(request: HttpRequest, id: UUID) -> HttpResponse:
    principal = _caller(request, APPROVALS)
    cancel(principal, id)
    return _answer(_text(principal, id))


def _consume(request: HttpRequest, id: UUID) -> HttpResponse:
    principal = _caller(request, EFFECTS)
    use(principal, id, key=read_key(request.headers.get("Idempotency-Key")))
    return _answer(_text(principal, id))


def _report(request: HttpRequest, id: UUID) -> HttpResponse:
    principal = _caller(request, EFFECTS)
    status, note = read_outcome(request.body)
    report(principal, id, status=status, note=note)
    return _answer(_text(principal, id))


async def _wait(request: HttpRequest, id: UUID) -> HttpResponse:
    wish = request.GET.get("wait")
    ends = time.monotonic() + (min(seconds_of(wish), LONGEST) if wish else 0)
    principal, text = await offload(_read, request, id)
    if wish is None or is_terminal(text):
        return _answer(text)
    with places.one(principal.key_id):
        async with hub().waiting(f"{principal.tenant_id}:{id}") as news:
            while True:
                news.take()
                _, text = await offload(_read, request, id)
                left = ends - time.monotonic()
                if is_terminal(text) or left <= 0:
                    return _answer(text)
                try:
                    async with asyncio.timeout(left):
                        await news.wait()
                except TimeoutError:
                    continue


def _read(request: HttpRequest, id: UUID) -> tuple[Principal, str]:
    principal = _caller(request, READ)
    return principal, _text(principal, id)


def _text(principal: Principal, id: UUID) -> str:
    with tenant_transaction(principal.tenant_id):
        return request_text(own(principal, id))


def _caller(request: HttpRequest, scope: str) -> Principal:
    principal = authenticate_key(request.headers.get("Authorization"))
    require_scope(principal, scope)
    return principal


def _require(request: HttpRequest, *methods: str) -> None:
    if request.method not in methods:
        raise METHOD()
    if set(request.GET) - ({"wait"} if request.method == "GET" else set()):
        raise INVALID("There is no such parameter.")


def _answer(text: str, status: int = 200) -> HttpResponse:
    response = HttpResponse(text, status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


def _refused(problem: Problem) -> HttpResponse:
    # The protocol's own word for a body that is wrong is 400, whichever way it is.
    status = 400 if problem.status in {411, 413, 415, 422} else problem.status
    error = {
        "type": TYPES.get(status, "invalid_request"),
        "code": problem.code,
        "message": problem.detail,
        "request_id": get_contextvars().get("request_id", ""),
        **({"param": problem.pointer} if problem.pointer else {}),
    }
    response = _answer(json_text({"error": error}), status)
    if status in (429, 503):
        response["Retry-After"] = str(problem.extra.get("retry_after", RETRY_AFTER))
    if status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="keyturn"'
    return response
