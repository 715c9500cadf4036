"""Answers as bytes: JSON, and problems as RFC 9457 wants them."""

from collections.abc import Callable
from typing import Any, Final

from django.http import HttpResponse
from rest_framework.renderers import JSONRenderer

from kernel.problems import Problem

JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"
RETRY_AFTER: Final = "1"

type Rendered = tuple[int, str]
"""A status and the JSON text of a body."""


def json_text(data: Any) -> str:
    """The JSON of plain data; ids, times and decimals become strings."""
    return bytes(JSONRenderer().render(data)).decode()


def rendered[T](
    document: Callable[[T], Any], *, status: int = 200
) -> Callable[[T], Rendered]:
    """Make a `render` for `once_from`: the result's document, with that status."""
    return lambda result: (status, json_text(document(result)))


def json_response(status: int, text: str) -> HttpResponse:
    """Send a text that is JSON already; from 400 on it is a problem."""
    kind = JSON if status < 400 else PROBLEM
    response = HttpResponse(text, status=status, content_type=kind)
    response["Cache-Control"] = "no-store"
    return response


def problem_response(problem: Problem) -> HttpResponse:
    """Send a problem, from any kind of view."""
    response = json_response(problem.status, json_text(problem.document()))
    if problem.status in (429, 503):
        response["Retry-After"] = str(problem.extra.get("retry_after", RETRY_AFTER))
    if problem.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="keyturn"'
    return response
