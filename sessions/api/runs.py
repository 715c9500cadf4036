"""Runs, over HTTP: started, claimed, kept alive, and ended once."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kernel.scope import tenant_transaction
from sessions.api.documents import run_document, run_row
from sessions.branches import BRANCH_HELD, TOO_MANY_BRANCHES
from sessions.hooks import hooks
from sessions.models import Run
from sessions.queries import own_run, runs_of
from sessions.rest import FENCED, NOT_FENCED, entity_tag, fence_of
from sessions.runs import LEASE_HELD, PAUSE_OPEN, RUN_ENDED, WRONG_STATE
from sessions.serializers import (
    EndSerializer,
    LeaseSerializer,
    ResultSerializer,
    RunDocument,
    RunPage,
    RunQuery,
    RunSerializer,
)
from sessions.services import (
    cancel_run,
    claim_run,
    complete_run,
    fail_run,
    heartbeat,
    start_run,
)
from sessions.services.workflows import WORKFLOW_UNKNOWN
from tenants.rest.answers import Rendered, json_text, rendered
from tenants.rest.once import answered, once_from
from tenants.rest.paging import page
from tenants.rest.refusals import refuses
from tenants.rest.views import AgentView
from tenants.scopes import SESSIONS


class SessionRunsView(AgentView):
    """The runs of a session."""

    scope = SESSIONS

    @extend_schema(
        operation_id="start_run",
        request=RunSerializer,
        responses={201: RunDocument, 200: RunDocument},
        extensions=refuses(WORKFLOW_UNKNOWN, BRANCH_HELD, TOO_MANY_BRANCHES),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Start a run, claimed by the caller; 200 and unclaimed if it is known already."""
        body = RunSerializer.read(request)
        once = once_from(request, _started)
        start_run(who=self.principal, session_id=id, once=once, **body)
        return answered(once)


class RunsView(AgentView):
    """The agent's runs."""

    scope = SESSIONS
    query_class = RunQuery

    @extend_schema(operation_id="list_runs", parameters=[RunQuery], responses=RunPage)
    def get(self, request: Request) -> Response:
        """List the runs in sessions that this agent opened, newest first."""
        named = ("state", "external_id")
        wanted = {name: self.query[name] for name in named if name in self.query}
        with tenant_transaction(self.principal.tenant_id):
            rows = runs_of(self.principal).filter(**wanted)
            return Response(page(rows, request, run_row))


class RunView(AgentView):
    """One run."""

    scope = SESSIONS

    @extend_schema(operation_id="get_run", responses=RunDocument)
    def get(self, request: Request, id: UUID) -> Response:
        """Read a run with its facts and what it waits for."""
        with tenant_transaction(self.principal.tenant_id):
            run = own_run(self.principal, id)
            document = run_document(run)
        return Response(document, headers={"ETag": entity_tag(run.version)})


class ClaimView(AgentView):
    """Becoming the one writer."""

    scope = SESSIONS

    @extend_schema(
        operation_id="claim_run",
        request=LeaseSerializer,
        responses=RunDocument,
        extensions=refuses(LEASE_HELD, RUN_ENDED),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Become the run's one writer, under a new fence."""
        body = LeaseSerializer.read(request)
        once = once_from(request, rendered(run_document))
        claim_run(who=self.principal, run_id=id, once=once, **body)
        return answered(once)


class HeartbeatView(AgentView):
    """Staying the one writer."""

    scope = SESSIONS

    @extend_schema(
        operation_id="heartbeat_run",
        parameters=[FENCED],
        request=LeaseSerializer,
        responses=RunDocument,
        extensions=refuses(*NOT_FENCED, RUN_ENDED),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Keep the lease for so many seconds from now."""
        body = LeaseSerializer.read(request)
        once = once_from(request, rendered(run_document))
        fence = fence_of(request)
        heartbeat(who=self.principal, run_id=id, fence=fence, once=once, **body)
        return answered(once)


class CompleteView(AgentView):
    """The run is done."""

    scope = SESSIONS

    @extend_schema(
        operation_id="complete_run",
        parameters=[FENCED],
        request=ResultSerializer,
        responses=RunDocument,
        extensions=refuses(*NOT_FENCED, RUN_ENDED, WRONG_STATE, PAUSE_OPEN),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """End the run as done."""
        body = ResultSerializer.read(request)
        once = once_from(request, rendered(run_document))
        fence = fence_of(request)
        complete_run(who=self.principal, run_id=id, fence=fence, once=once, **body)
        return answered(once)


class FailView(AgentView):
    """The run did not work out."""

    scope = SESSIONS

    @extend_schema(
        operation_id="fail_run",
        parameters=[FENCED],
        request=EndSerializer,
        responses=RunDocument,
        extensions=refuses(*NOT_FENCED, RUN_ENDED, WRONG_STATE, "effect_in_flight"),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """End the run as failed, together with what it asked."""
        ending = _ending(request)
        fail_run(who=self.principal, run_id=id, **ending)
        return answered(ending["once"])


class CancelView(AgentView):
    """The run is not wanted any more."""

    scope = SESSIONS

    @extend_schema(
        operation_id="cancel_run",
        parameters=[FENCED],
        request=EndSerializer,
        responses=RunDocument,
        extensions=refuses(*NOT_FENCED, RUN_ENDED, WRONG_STATE, "effect_in_flight"),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """End the run as not wanted, together with what it asked."""
        ending = _ending(request)
        cancel_run(who=self.principal, run_id=id, **ending)
        return answered(ending["once"])


def _ending(request: Request) -> dict[str, Any]:
    return {
        "reason": EndSerializer.read(request)["reason"],
        "fence": fence_of(request),
        "closing": hooks.closing,
        "once": once_from(request, rendered(run_document)),
    }


def _started(result: tuple[Run, bool]) -> Rendered:
    run, new = result
    return 201 if new else 200, json_text(run_document(run))
