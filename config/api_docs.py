"""The API's own description, and a page to read it on.

What the API looks like is no secret: it is in the source. The page's assets come from a
package and are served by us. It has a policy of its own, because its library draws
pictures from `data:` addresses; and it only shows: nothing can be sent from it.
"""

from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.csp import CSP
from django.views.decorators.csp import csp_override
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from rest_framework.exceptions import MethodNotAllowed

from tenants.rest.exceptions import problems
from tenants.rest.strict import QuerySerializer

# Registers how authentication and strict bodies look in the document. Not where the app
# starts: it loads the generator, and with that the test framework, into each program.
import_module("tenants.rest.schema")

KIND: Final = "application/vnd.oai.openapi+json"
_POLICY: Final[Mapping[str, Collection[str]]] = {
    **settings.SECURE_CSP,
    "img-src": [CSP.SELF, "data:"],
    "form-action": [CSP.NONE],
}


@csrf_exempt
@problems
def schema(request: HttpRequest) -> HttpResponse:
    """`/api/v1/schema`: OpenAPI 3.1 as JSON."""
    _only_read(request)
    return HttpResponse(_document(), content_type=KIND)


@csrf_exempt
@problems
@csp_override(_POLICY)
def docs(request: HttpRequest) -> HttpResponse:
    """`/api/v1/docs`: the same for people."""
    _only_read(request)
    return render(request, "api_docs.html")


def _only_read(request: HttpRequest) -> None:
    if request.method not in {"GET", "HEAD"}:
        error = MethodNotAllowed(str(request.method))
        error.allow = "GET, HEAD"  # type: ignore[attr-defined]
        raise error
    QuerySerializer.read(request.GET)


@cache
def _document() -> bytes:
    """Made once for each process: it takes long, and anybody may ask for it."""
    described = SchemaGenerator().get_schema(request=None, public=True)
    return bytes(OpenApiJsonRenderer().render(described))
