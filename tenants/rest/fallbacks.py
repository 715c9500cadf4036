"""What Django answers when no view does: problems under `/api/`, pages elsewhere."""

from django.http import HttpRequest, HttpResponseBase
from django.views import defaults

from kernel.problems import NOT_FOUND
from tenants.access import NOT_PERMITTED
from tenants.rest.answers import problem_response
from tenants.rest.exceptions import BAD_REQUEST, UNEXPECTED


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
    """`handler500`"""
    if _is_api(request):
        return problem_response(UNEXPECTED())
    return defaults.server_error(request)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")
