"""Facts and stages, over HTTP: recorded against the version that was read."""

from functools import partial
from typing import Final
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kernel.json_schema import SCHEMA_TOO_COMPLEX
from kernel.problems import declare
from kernel.scope import tenant_transaction
from sessions.api.documents import transition_document, version_document
from sessions.contract import (
    FACT_INVALID,
    FACT_MISSING,
    FACT_NOT_ALLOWED,
    FACT_STALE,
    PROVENANCE_NOT_ALLOWED,
    STAGE_NOT_ALLOWED,
    UNPROVEN,
)
from sessions.facts import NOTHING_TO_RECORD, STALE_VERSION
from sessions.queries import own_run, transitions_of
from sessions.rest import FENCED, NOT_FENCED, fence_of, version_expected
from sessions.runs import RUN_ENDED
from sessions.serializers import (
    PageQuery,
    TransitionPage,
    TransitionSerializer,
    VersionDocument,
)
from sessions.services import record_transition
from tenants.rest.answers import rendered
from tenants.rest.once import answered, once_from
from tenants.rest.paging import page
from tenants.rest.refusals import refuses
from tenants.rest.views import AgentView
from tenants.scopes import SESSIONS

VERSION_REQUIRED: Final = declare(
    "version_required",
    status=428,
    title="Say which version of the facts you have read, once",
)


class TransitionsView(AgentView):
    """How a run's facts, stage and state came about."""

    scope = SESSIONS
    query_class = PageQuery

    @extend_schema(
        operation_id="list_transitions",
        parameters=[PageQuery],
        responses=TransitionPage,
    )
    def get(self, request: Request, id: UUID) -> Response:
        """List everything that happened to the run's state, from its start."""
        with tenant_transaction(self.principal.tenant_id):
            run = own_run(self.principal, id)
            document = partial(transition_document, run)
            rows = transitions_of(run)
            return Response(page(rows, request, document, order=("seq",)))

    @extend_schema(
        operation_id="record_transition",
        parameters=[FENCED, OpenApiParameter("If-Match", str, "header")],
        request=TransitionSerializer,
        responses={201: VersionDocument},
        extensions=refuses(
            *NOT_FENCED,
            RUN_ENDED,
            STALE_VERSION,
            VERSION_REQUIRED,
            NOTHING_TO_RECORD,
            STAGE_NOT_ALLOWED,
            FACT_NOT_ALLOWED,
            FACT_INVALID,
            PROVENANCE_NOT_ALLOWED,
            UNPROVEN,
            FACT_MISSING,
            FACT_STALE,
            SCHEMA_TOO_COMPLEX,
        ),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """State facts and move between stages, if nothing changed since the version."""
        body = TransitionSerializer.read(request)
        once = once_from(request, rendered(version_document, status=201))
        record_transition(
            who=self.principal,
            run_id=id,
            fence=fence_of(request),
            expected_version=_version(body.get("expected_version"), request),
            facts=body.get("facts", {}),
            stage=body.get("stage"),
            reason=body["reason"],
            once=once,
        )
        return answered(once)


def _version(given: int | None, request: Request) -> int:
    versions = {given, version_expected(request)} - {None}
    if len(versions) != 1:
        raise VERSION_REQUIRED(None, "/expected_version")
    (version,) = versions
    assert version is not None
    return version
