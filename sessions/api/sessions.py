"""Sessions and their items, over HTTP."""

from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kernel.scope import tenant_transaction
from sessions.api.documents import (
    items_text,
    places_document,
    session_document,
    session_row,
)
from sessions.api.raw import ItemsParser
from sessions.queries import latest_items, own_session, sessions_of, with_waiting
from sessions.rest import FENCE, HEADER_MALFORMED, fence_if_any
from sessions.runs import STALE_WRITER
from sessions.serializers import (
    ItemsDocument,
    ItemsQuery,
    ItemsSerializer,
    PlacesDocument,
    SessionDocument,
    SessionPage,
    SessionQuery,
    SessionSerializer,
)
from sessions.services import append_items, open_session
from sessions.services.sessions import SUBJECT_DIFFERS
from sessions.vault import ITEM_UNREADABLE
from tenants.rest.answers import json_response, rendered
from tenants.rest.bodies import MEBIBYTE
from tenants.rest.once import answered, once_from
from tenants.rest.paging import page
from tenants.rest.refusals import refuses
from tenants.rest.views import AgentView
from tenants.scopes import SESSIONS
from tenants.vault import DATA_ERASED

MOST_ITEMS: Final = 10_000
"""As many as one answer holds, whatever limit was asked for."""


FENCED_IF_IN_A_RUN: Final = OpenApiParameter(
    name=FENCE,
    type=int,
    location=OpenApiParameter.HEADER,
    description="Shown, it must be that of the `run` which the items belong to.",
)


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


class ItemsView(AgentView):
    """What was said in a session."""

    scope = SESSIONS
    parser_classes = [ItemsParser]
    body_limit = 4 * MEBIBYTE
    query_class = ItemsQuery

    @extend_schema(
        operation_id="list_items",
        parameters=[ItemsQuery],
        responses=ItemsDocument,
        extensions=refuses(ITEM_UNREADABLE, DATA_ERASED),
    )
    def get(self, request: Request, id: UUID) -> HttpResponse:
        """Read the latest items in the order they were added, each exactly as it came."""
        limit = min(int(self.query.get("limit", MOST_ITEMS)), MOST_ITEMS)
        with tenant_transaction(self.principal.tenant_id):
            session = own_session(self.principal, id)
            items = latest_items(session, limit + 1)
        more = len(items) > limit
        return json_response(200, items_text(items[more:], more=more))

    @extend_schema(
        operation_id="append_items",
        request=ItemsSerializer,
        parameters=[FENCED_IF_IN_A_RUN],
        responses={201: PlacesDocument},
        extensions=refuses(HEADER_MALFORMED, STALE_WRITER, DATA_ERASED),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Add items after the last one: all of them, in this order, or none."""
        body = ItemsSerializer.read(request)
        once = once_from(request, rendered(places_document, status=201))
        append_items(
            who=self.principal,
            session_id=id,
            items=body["items"],
            run_id=body.get("run"),
            fence=fence_if_any(request),
            once=once,
        )
        return answered(once)


def _row(session: Any) -> dict[str, Any]:
    return session_row(session, waits=session.waits)
