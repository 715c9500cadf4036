"""What was agreed to beforehand, as the agent that it is for may know it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request as HTTPRequest
from rest_framework.response import Response

from approvals.api import described
from approvals.beforehand import state_of
from approvals.models import StandingApproval
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from sessions.serializers import PageQuery
from tenants.models import Tenant
from tenants.rest.paging import page_of_many
from tenants.rest.views import AgentView
from tenants.scopes import APPROVALS


class StandingApprovalsView(AgentView):
    """Standing approvals of this agent, in its key's environment."""

    scope = APPROVALS
    query_class = PageQuery

    @extend_schema(
        operation_id="list_standing_approvals",
        parameters=[PageQuery],
        responses=described.StandingApprovalPage,
    )
    def get(self, request: HTTPRequest) -> Response:
        """List them, newest first. The bounds themselves are shown to people alone."""
        with tenant_transaction(self.principal.tenant_id):
            rows = StandingApproval.objects.filter(
                agent_id=self.principal.agent_id,
                environment=self.principal.environment,
            )
            near = rows.select_related("tool", "author", "request__session")
            return Response(page_of_many(near, request, _documents))


def _documents(rows: Sequence[StandingApproval]) -> list[dict[str, Any]]:
    names = Tenant.objects.values_list("names_deciders", flat=True).get()
    now = database_now()
    return [_document(one, now, names=names) for one in rows]


def _document(one: StandingApproval, now: datetime, *, names: bool) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "tool": one.tool.name,
        "environment": one.environment,
        "state": state_of(one, now),
        "by": one.author.name if names else "a reviewer",
        "uses": one.uses,
        "used": one.used,
        "expires_at": one.expires_at.isoformat(),
        "created_at": one.created_at.isoformat(),
    }
