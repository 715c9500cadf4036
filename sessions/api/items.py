"""What is said in a session, over HTTP: exact texts, in one order, on branches."""

import json
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kernel.scope import tenant_transaction
from sessions.api.documents import (
    branch_document,
    items_text,
    places_document,
    popped_document,
    popped_text,
    removal_document,
)
from sessions.api.raw import ItemsParser
from sessions.branches import BRANCH_HELD, TOO_MANY_BRANCHES
from sessions.models import Branch, Item
from sessions.queries import (
    TRUNK,
    item_with,
    items_on,
    newest_within,
    own_session,
    require_branch,
)
from sessions.rest import NOT_FENCED, fence_if_any
from sessions.runs import FENCE, PAUSE_OPEN
from sessions.serializers import (
    BranchDocument,
    BranchPage,
    BranchSerializer,
    ItemsDocument,
    ItemsQuery,
    ItemsSerializer,
    LineSerializer,
    PageQuery,
    PlacesDocument,
    PoppedDocument,
    RemovalSerializer,
    RemovedDocument,
    ReplaceSerializer,
)
from sessions.services import (
    Place,
    append_items,
    branch_session,
    clear_items,
    pop_item,
    replace_items,
)
from sessions.services.items import CRITICAL_ITEM, ITEMS_CHANGED
from sessions.vault import ITEM_UNREADABLE
from tenants.idempotency import Replayed
from tenants.rest.answers import json_response, rendered
from tenants.rest.bodies import MEBIBYTE
from tenants.rest.exceptions import REPLAY
from tenants.rest.once import answered, once_from
from tenants.rest.paging import page
from tenants.rest.refusals import refuses
from tenants.rest.views import AgentView
from tenants.scopes import SESSIONS
from tenants.vault import DATA_ERASED

MOST_ITEMS: Final = 10_000
"""As many as one answer holds, whatever limit was asked for."""
MOST_BYTES: Final = 8 * MEBIBYTE
"""As many as one answer holds, but for the newest item, which is always there."""

SEALED: Final = (ITEM_UNREADABLE, DATA_ERASED)
"""Why items cannot be read, though they are there."""

FENCED_IF_IN_A_RUN: Final = OpenApiParameter(
    name=FENCE,
    type=int,
    location=OpenApiParameter.HEADER,
    description="Required with `run`: the fence of the run's writer.",
)


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
        extensions=refuses(*SEALED),
    )
    def get(self, request: Request, id: UUID) -> HttpResponse:
        """Read the latest items in the order they were added, each exactly as it came.

        An answer holds at most 10,000 items and about 8 MiB, and at least one item.
        Where `more` is true, ask for those `before` the first position of the answer.
        """
        limit = min(int(self.query.get("limit", MOST_ITEMS)), MOST_ITEMS)
        branch, before = int(self.query.get("branch", TRUNK)), self.query.get("before")
        with tenant_transaction(self.principal.tenant_id):
            session = own_session(self.principal, id)
            require_branch(session, branch)
            rows = items_on(session.id, branch)
            if before is not None:
                rows = rows.filter(position__lt=int(before))
            found = newest_within(
                rows, session_id=session.id, limit=limit, most=MOST_BYTES
            )
        return json_response(200, items_text(found.items, more=found.more))

    @extend_schema(
        operation_id="append_items",
        request=ItemsSerializer,
        parameters=[FENCED_IF_IN_A_RUN],
        responses={201: PlacesDocument},
        extensions=refuses(*NOT_FENCED, BRANCH_HELD, DATA_ERASED),
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
            branch=body.get("branch"),
            once=once,
        )
        return answered(once)


class PopView(AgentView):
    """The newest item, taken back."""

    scope = SESSIONS

    @extend_schema(
        operation_id="pop_item",
        request=LineSerializer,
        parameters=[FENCED_IF_IN_A_RUN],
        responses=PoppedDocument,
        extensions=refuses(
            *NOT_FENCED, BRANCH_HELD, PAUSE_OPEN, CRITICAL_ITEM, *SEALED
        ),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Take the newest item back, and read it. No two callers get the same."""
        place = _place(LineSerializer.read(request), request, id)
        once = once_from(request, rendered(popped_document))
        try:
            item = pop_item(who=self.principal, place=place, once=once)
        except Replayed as replayed:
            # What is stored for a repetition is the item's id and not its text.
            response = json_response(200, popped_text(self._again(id, replayed)))
            response[REPLAY] = "true"
            return response
        return json_response(200, popped_text(item))

    def _again(self, session_id: UUID, replayed: Replayed) -> Item | None:
        if replayed.status != 200:
            raise replayed
        with tenant_transaction(self.principal.tenant_id):
            session = own_session(self.principal, session_id)
            return item_with(session, json.loads(replayed.body)["id"])


class ClearView(AgentView):
    """All items of a branch, taken back."""

    scope = SESSIONS

    @extend_schema(
        operation_id="clear_items",
        request=RemovalSerializer,
        parameters=[FENCED_IF_IN_A_RUN],
        responses=RemovedDocument,
        extensions=refuses(
            *NOT_FENCED, BRANCH_HELD, PAUSE_OPEN, CRITICAL_ITEM, *SEALED
        ),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Take all items of the branch back; that it happened stays on record."""
        body = RemovalSerializer.read(request)
        once = once_from(request, rendered(removal_document))
        clear_items(
            who=self.principal,
            place=_place(body, request, id),
            reason=body.get("reason", ""),
            once=once,
        )
        return answered(once)


class ReplaceView(AgentView):
    """All items of a branch, said anew."""

    scope = SESSIONS
    parser_classes = [ItemsParser]
    body_limit = 12 * MEBIBYTE

    @extend_schema(
        operation_id="replace_items",
        request=ReplaceSerializer,
        parameters=[FENCED_IF_IN_A_RUN],
        responses={201: PlacesDocument},
        extensions=refuses(
            *NOT_FENCED,
            BRANCH_HELD,
            PAUSE_OPEN,
            ITEMS_CHANGED,
            CRITICAL_ITEM,
            DATA_ERASED,
        ),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Take all items back and add others, in one step: for compacted histories."""
        body = ReplaceSerializer.read(request)
        once = once_from(request, rendered(places_document, status=201))
        replace_items(
            who=self.principal,
            place=_place(body, request, id),
            items=body["items"],
            expected_last=body.get("expected_last"),
            reason=body.get("reason", ""),
            once=once,
        )
        return answered(once)


class BranchesView(AgentView):
    """Lines of the session besides its trunk."""

    scope = SESSIONS
    query_class = PageQuery

    @extend_schema(
        operation_id="list_branches", parameters=[PageQuery], responses=BranchPage
    )
    def get(self, request: Request, id: UUID) -> Response:
        """List the branches, in the order they were begun."""
        with tenant_transaction(self.principal.tenant_id):
            session = own_session(self.principal, id)
            rows = Branch.objects.filter(session_id=session.id)
            return Response(page(rows, request, branch_document, order=("number",)))

    @extend_schema(
        operation_id="begin_branch",
        request=BranchSerializer,
        responses={201: BranchDocument},
        extensions=refuses(TOO_MANY_BRANCHES),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Begin a branch that takes along what another says, up to a position."""
        body = BranchSerializer.read(request)
        once = once_from(request, rendered(branch_document, status=201))
        branch_session(who=self.principal, session_id=id, once=once, **body)
        return answered(once)


def _place(body: dict[str, Any], request: Request, session_id: UUID) -> Place:
    return Place(
        session_id=session_id,
        run_id=body.get("run"),
        fence=fence_if_any(request),
        branch=body.get("branch"),
    )
