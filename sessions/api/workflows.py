"""Workflows over HTTP, to be read: what a run that starts now may state, and when."""

from typing import Any

from django.db.models import Exists, OuterRef
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kernel.problems import NOT_FOUND
from kernel.scope import tenant_transaction
from sessions.models import Workflow
from sessions.serializers import (
    PageQuery,
    WorkflowDocument,
    WorkflowPage,
    WorkflowQuery,
)
from tenants.rest.paging import page
from tenants.rest.views import AgentView
from tenants.scopes import SESSIONS


class WorkflowsView(AgentView):
    """The kinds of work that the tenant has defined."""

    scope = SESSIONS
    query_class = PageQuery

    @extend_schema(
        operation_id="list_workflows", parameters=[PageQuery], responses=WorkflowPage
    )
    def get(self, request: Request) -> Response:
        """List the kinds of work, each in the version in force; the newest of them first."""
        tenant_id = self.principal.tenant_id
        newer = Workflow.objects.filter(
            kind=OuterRef("kind"), version__gt=OuterRef("version")
        )
        with tenant_transaction(tenant_id):
            rows = Workflow.objects.filter(~Exists(newer), tenant_id=tenant_id)
            return Response(page(rows, request, workflow_row))


class WorkflowView(AgentView):
    """One kind of work."""

    scope = SESSIONS
    query_class = WorkflowQuery

    @extend_schema(
        operation_id="get_workflow",
        parameters=[WorkflowQuery],
        responses=WorkflowDocument,
    )
    def get(self, request: Request, name: str) -> Response:
        """Read a version of the contract, or the one in force: fields, stages, rules."""
        tenant_id = self.principal.tenant_id
        with tenant_transaction(tenant_id):
            versions = Workflow.objects.filter(tenant_id=tenant_id, kind=name)
            numbers = list(
                versions.order_by("version").values_list("version", flat=True)
            )
            wanted = int(self.query.get("version", numbers[-1] if numbers else 0))
            if wanted not in numbers:
                raise NOT_FOUND()
            return Response(workflow_document(versions.get(version=wanted), numbers))


def workflow_row(workflow: Workflow) -> dict[str, Any]:
    """One kind in a list."""
    return {
        "kind": workflow.kind,
        "version": workflow.version,
        "title": workflow.definition.get("title", ""),
        "description": workflow.definition.get("description", ""),
        "created_at": workflow.created_at,
    }


def workflow_document(workflow: Workflow, versions: list[int]) -> dict[str, Any]:
    """A version with its whole definition, and which versions there are."""
    whole = {"definition": workflow.definition, "versions": versions}
    return workflow_row(workflow) | whole
