"""A run's state as it was, over HTTP, and what changed between two versions."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kernel.scope import tenant_transaction
from sessions.api.documents import diff_document, state_document
from sessions.history import state_at_time, state_at_version
from sessions.queries import own_run
from sessions.serializers import DiffDocument, DiffQuery, StateDocument, StateQuery
from tenants.rest.views import AgentView
from tenants.scopes import SESSIONS


class StateView(AgentView):
    """The run's state, now or then."""

    scope = SESSIONS
    query_class = StateQuery

    @extend_schema(
        operation_id="get_state", parameters=[StateQuery], responses=StateDocument
    )
    def get(self, request: Request, id: UUID) -> Response:
        """Read state, stage and facts: at a version, at a time, or as they are."""
        with tenant_transaction(self.principal.tenant_id):
            run = own_run(self.principal, id)
            if "at" in self.query:
                return Response(
                    state_document(run, state_at_time(run, self.query["at"]))
                )
            version = int(self.query.get("version", run.version))
            return Response(state_document(run, state_at_version(run, version)))


class DiffView(AgentView):
    """Between two versions."""

    scope = SESSIONS
    query_class = DiffQuery

    @extend_schema(
        operation_id="diff_state", parameters=[DiffQuery], responses=DiffDocument
    )
    def get(self, request: Request, id: UUID) -> Response:
        """Tell which facts differ between two versions, and how."""
        with tenant_transaction(self.principal.tenant_id):
            run = own_run(self.principal, id)
            last = int(self.query.get("after", run.version))
            first = int(self.query.get("before", max(last - 1, 0)))
            before, after = state_at_version(run, first), state_at_version(run, last)
            return Response(diff_document(run, before, after))
