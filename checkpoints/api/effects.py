"""Effects, over HTTP: what became of an action."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints.api.documents import effect_document
from checkpoints.queries import own_effect
from checkpoints.serializers import EffectDocument
from kernel.scope import tenant_transaction
from tenants.rest.views import AgentView
from tenants.scopes import EFFECTS


class EffectView(AgentView):
    """One effect."""

    scope = EFFECTS

    @extend_schema(operation_id="get_effect", responses=EffectDocument)
    def get(self, request: Request, id: UUID) -> Response:
        """Read an effect of a run that is the agent's."""
        with tenant_transaction(self.principal.tenant_id):
            return Response(effect_document(own_effect(self.principal, id)))
