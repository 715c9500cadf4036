"""What Django answers when no view does: problems under `/api/`, pages elsewhere."""

import sys

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.views import defaults

from kernel.problems import NOT_FOUND, Problem
from tenants.access import NOT_PERMITTED
from tenants.rest.answers import RETRY_AFTER, problem_response
from tenants.rest.exceptions import BAD_REQUEST, UNEXPECTED, passing


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """`handler400`"""
    if _is_api(request):
        return problem_response(BAD_REQUEST())
    return defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """`handler403`"""
    if _is_api(request):
        return problem_response(NOT_PERMITTED())
    return defaults.permission_denied(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """`handler404`"""
    if _is_api(request):
        return problem_response(NOT_FOUND())
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    """`handler500`: a 503 where only the moment was wrong, and no view was to blame."""
    problem = passing(sys.exception())
    if _is_api(request):
        return problem_response(problem or UNEXPECTED())
    return _come_again(problem) if problem else defaults.server_error(request)


def _come_again(problem: Problem) -> HttpResponse:
    page = HttpResponse(render_to_string("503.html"), status=problem.status)
    page["Retry-After"] = RETRY_AFTER
    page["Cache-Control"] = "no-store"
    return page


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")
