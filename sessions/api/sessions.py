"""Sessions, over HTTP."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kernel.scope import tenant_transaction
from sessions.api.documents import session_document, session_row
from sessions.queries import own_session, sessions_of, with_waiting
from sessions.serializers import (
    SessionDocument,
    SessionPage,
    SessionQuery,
    SessionSerializer,
)
from sessions.services import open_session
from sessions.services.sessions import SUBJECT_DIFFERS
from tenants.rest.answers import rendered
from tenants.rest.once import answered, once_from
from tenants.rest.paging import page
from tenants.rest.refusals import refuses
from tenants.rest.views import AgentView
from tenants.scopes import SESSIONS


class SessionsView(AgentView):
    """The agent's sessions."""

    scope = SESSIONS
    query_class = SessionQuery

    @extend_schema(
        operation_id="list_sessions",
        parameters=[SessionQuery],
        responses=SessionPage,
    )
    def get(self, request: Request) -> Response:
        """List the sessions that this agent opened, newest first."""
        query = self.query
        with tenant_transaction(self.principal.tenant_id):
            rows = with_waiting(sessions_of(self.principal))
            if "external_id" in query:
                rows = rows.filter(external_id=query["external_id"])
            return Response(page(rows, request, _row))

    @extend_schema(
        operation_id="open_session",
        request=SessionSerializer,
        responses={201: SessionDocument},
        extensions=refuses(SUBJECT_DIFFERS),
    )
    def post(self, request: Request) -> HttpResponse:
        """Open a session; again with the same `external_id`, find it."""
        body = SessionSerializer.read(request)
        once = once_from(request, rendered(session_document, status=201))
        open_session(who=self.principal, once=once, **body)
        return answered(once)


class SessionView(AgentView):
    """One session."""

    scope = SESSIONS

    @extend_schema(operation_id="get_session", responses=SessionDocument)
    def get(self, request: Request, id: UUID) -> Response:
        """Read a session that this agent opened."""
        with tenant_transaction(self.principal.tenant_id):
            return Response(session_document(own_session(self.principal, id)))


def _row(session: Any) -> dict[str, Any]:
    return session_row(session, waits=session.waits)
