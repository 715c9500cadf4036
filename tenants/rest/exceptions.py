"""Whatever a view raises becomes a problem. Nothing internal is ever shown."""

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Final

import structlog
from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.db import InterfaceError, InternalError, OperationalError
from django.http import Http404, HttpResponse
from rest_framework import exceptions

from kernel.problems import NOT_FOUND, Problem, declare
from kernel.strict_json import TOO_LARGE
from tenants.access import NOT_PERMITTED
from tenants.authentication import NOT_AUTHENTICATED
from tenants.idempotency import Replayed
from tenants.rest.answers import json_response, problem_response
from tenants.rest.flaws import flaws_of, invalid

BAD_REQUEST: Final = declare("bad_request", status=400, title="This makes no sense")
METHOD: Final = declare(
    "method_not_allowed", status=405, title="This cannot be done to it"
)
NOT_ACCEPTABLE: Final = declare(
    "not_acceptable", status=406, title="Only JSON is spoken here"
)
MEDIA_TYPE: Final = declare(
    "unsupported_media_type", status=415, title="Bodies are application/json"
)
TOO_MANY: Final = declare("too_many_requests", status=429, title="Too many requests")
UNAVAILABLE: Final = declare(
    "unavailable", status=503, title="The database cannot be reached: try again"
)
UNEXPECTED: Final = declare(
    "unexpected", status=500, title="This failed, and it is our fault"
)

REPLAY: Final = "Idempotent-Replay"

_log = structlog.get_logger(__name__)

_KINDS: Final = {
    exceptions.NotAuthenticated: NOT_AUTHENTICATED,
    exceptions.AuthenticationFailed: NOT_AUTHENTICATED,
    exceptions.PermissionDenied: NOT_PERMITTED,
    exceptions.NotFound: NOT_FOUND,
    exceptions.ParseError: BAD_REQUEST,
    exceptions.NotAcceptable: NOT_ACCEPTABLE,
    exceptions.UnsupportedMediaType: MEDIA_TYPE,
    Http404: NOT_FOUND,
    PermissionDenied: NOT_PERMITTED,
    RequestDataTooBig: TOO_LARGE,
    SuspiciousOperation: BAD_REQUEST,
}


def exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """Django REST framework's `EXCEPTION_HANDLER`: never None, so never its own."""
    response = response_to(error)
    if response.status_code == 401:
        challenge = context["view"].get_authenticate_header(context["request"])
        response["WWW-Authenticate"] = challenge or response["WWW-Authenticate"]
    return response


def response_to(error: Exception) -> HttpResponse:
    """The answer to whatever was raised, for views of any framework."""
    if isinstance(error, Replayed):
        response = json_response(error.status, error.body)
        response[REPLAY] = "true"
        return response
    response = problem_response(problem_of(error))
    if isinstance(error, exceptions.MethodNotAllowed):
        response["Allow"] = getattr(error, "allow", "")
    return response


def problem_of(error: Exception) -> Problem:
    """The problem that tells as much of an exception as a caller may know."""
    match error:
        case Problem():
            return error
        case exceptions.ValidationError():
            return invalid(list(flaws_of(error.detail)))
        case exceptions.MethodNotAllowed():
            return METHOD()
        case exceptions.Throttled():
            return TOO_MANY(retry_after=round(getattr(error, "wait", None) or 1))
    if problem := passing(error):
        return problem
    for base, kind in _KINDS.items():
        if isinstance(error, base):
            return kind()
    _log.exception("unexpected error", exc_info=error)
    return UNEXPECTED()


def passing(error: BaseException | None) -> Problem | None:
    """The problem (503) of what may go well if it is tried again; None of all else."""
    match error:
        case Problem(status=503):
            return error
        case OperationalError() | InterfaceError():
            return UNAVAILABLE()
        case InternalError() if _is_timeout(error):
            return UNAVAILABLE()
    return None


def _is_timeout(error: InternalError) -> bool:
    """Whether the server ended a transaction for lasting, or idling, too long."""
    return getattr(error.__cause__, "sqlstate", None) in ("25P03", "25P04")


def problems[**P](view: Callable[P, Any]) -> Callable[P, Any]:
    """Give a plain view, sync or async, the same answers to what it raises."""
    if iscoroutinefunction(view):

        @wraps(view)
        async def answer_later(*args: P.args, **kwargs: P.kwargs) -> Any:
            try:
                return await view(*args, **kwargs)
            except Exception as error:
                return response_to(error)

        return answer_later

    @wraps(view)
    def answer(*args: P.args, **kwargs: P.kwargs) -> Any:
        try:
            return view(*args, **kwargs)
        except Exception as error:
            return response_to(error)

    return answer
