"""`GET /api/v1/audit` and `GET /api/v1/runs/{id}/bundle`: the log, for other machines.

Both are written while they are sent, as files are. Numbers of entries follow the order
of commits and have no gaps: whoever asks for what comes after the last that they read
whole has missed nothing, however the answer before ended.
"""

from collections.abc import Callable
from functools import partial
from typing import IO, Any, Final
from uuid import UUID

from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import MethodNotAllowed

from kernel.offload import offload
from kernel.problems import NOT_FOUND
from kernel.scope import tenant_transaction
from oversight.pages.audit_stream import write_stream
from oversight.pages.piped import piped
from oversight.pages.run_bundle import write_run_bundle
from oversight.services.exporting import record_bundle, record_stream
from sessions.models import Run
from tenants.authentication import authenticate_key
from tenants.principal import Principal
from tenants.rest.exceptions import problems
from tenants.rest.refusals import refuses
from tenants.rest.strict import QuerySerializer
from tenants.rest.views import AgentView, require_scope
from tenants.scopes import AUDIT

NDJSON: Final = "application/x-ndjson"
MOST: Final = 10_000  # entries of an answer


class StreamQuery(QuerySerializer):
    """Which entries: the cursor is the number of the last one that was read."""

    after = serializers.IntegerField(
        min_value=0,
        max_value=2**53,
        default=0,
        help_text="The last `seq` that was read.",
    )
    limit = serializers.IntegerField(
        min_value=1, max_value=MOST, default=1_000, help_text="Entries, at most."
    )


class AuditView(AgentView):
    """What the OpenAPI document says of this door: it is no view of the framework."""

    query_class = StreamQuery

    @extend_schema(
        operation_id="stream_audit",
        parameters=[StreamQuery],
        responses={
            (200, NDJSON): OpenApiResponse(
                OpenApiTypes.STR,
                "A line an entry, in order: `seq`, `id`, `at`, `kind`, `actor`,"
                " `subject`, `data`, and what proves it: `prev`, `hash`, `signature`"
                " (base64), `key_id`. Nothing: there is no later one.",
            )
        },
    )
    def get(self, request: object) -> None:
        """Read the tenant's audit log from a cursor on, as NDJSON.

        With a key that was issued for `audit:read` alone.
        """


class BundleView(AgentView):
    """What the OpenAPI document says of this door: it is no view of the framework."""

    @extend_schema(
        operation_id="export_run",
        responses={
            (200, NDJSON): OpenApiResponse(
                OpenApiTypes.STR, "What `verify_bundle.py` checks."
            )
        },
        extensions=refuses(NOT_FOUND),
    )
    def get(self, request: object, id: UUID) -> None:
        """Take the signed bundle of a run: its entries, and what they commit to.

        With a key that was issued for `audit:read` alone.
        """


@csrf_exempt  # so that any other method is told what this door is for
@problems
async def audit(request: HttpRequest) -> StreamingHttpResponse:
    """The entries after the cursor."""
    asked, principal = await _admitted(request, StreamQuery)
    await offload(record_stream, principal, after=asked["after"])
    write = partial(write_stream, principal.tenant_id, asked["after"], asked["limit"])
    return _lines(write)


@csrf_exempt
@problems
async def bundle(request: HttpRequest, id: UUID) -> StreamingHttpResponse:
    """The bundle of one run of the tenant."""
    _, principal = await _admitted(request, QuerySerializer)
    await offload(_require_run, principal, id)
    await offload(record_bundle, principal, run_id=id)
    return _lines(partial(write_run_bundle, principal.tenant_id, id))


# Where the document's generator looks for what it describes.
audit.cls, audit.initkwargs = AuditView, {}  # type: ignore[attr-defined]
bundle.cls, bundle.initkwargs = BundleView, {}  # type: ignore[attr-defined]


async def _admitted(
    request: HttpRequest, query: type[QuerySerializer]
) -> tuple[dict[str, Any], Principal]:
    if request.method != "GET":
        error = MethodNotAllowed(str(request.method))
        error.allow = "GET"  # type: ignore[attr-defined]
        raise error
    principal = await offload(_authorised, request.headers.get("Authorization"))
    return query.read(request.GET), principal


def _authorised(credential: str | None) -> Principal:
    principal = authenticate_key(credential)
    require_scope(principal, AUDIT)
    return principal


def _require_run(principal: Principal, run_id: UUID) -> None:
    with tenant_transaction(principal.tenant_id):
        if not Run.objects.filter(id=run_id).exists():
            raise NOT_FOUND()


def _lines(write: Callable[[IO[bytes]], None]) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(piped(write), content_type=NDJSON)
    answer["Cache-Control"] = "private, no-store"
    answer["X-Accel-Buffering"] = "no"
    return answer
