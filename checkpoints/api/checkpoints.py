"""Checkpoints, over HTTP."""

from typing import Final
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints.api.documents import checkpoint_document, saved_document
from checkpoints.checkpoint import (
    CHECKPOINT_CORRUPTED,
    HEADER_INVALID,
    PAYLOAD_TOO_LARGE,
    SCHEMA_UNSUPPORTED,
    STALE_CHECKPOINT,
)
from checkpoints.serializers import (
    PAYLOAD_INVALID,
    CheckpointDocument,
    PositionSerializer,
    SavedDocument,
)
from checkpoints.services import read_checkpoint, save_checkpoint
from kernel.problems import SECRET_IN_ARGUMENTS
from sessions.rest import FENCED, NOT_FENCED, fence_of
from sessions.runs import PAUSE_OPEN, RUN_ENDED
from tenants.rest.answers import rendered
from tenants.rest.bodies import CHECKPOINT_LIMIT
from tenants.rest.once import answered, once_from
from tenants.rest.refusals import refuses
from tenants.rest.views import AgentView
from tenants.scopes import SESSIONS
from tenants.vault import DATA_ERASED

NOT_SAVED: Final = (
    STALE_CHECKPOINT,
    SCHEMA_UNSUPPORTED,
    PAYLOAD_INVALID,
    PAYLOAD_TOO_LARGE,
    HEADER_INVALID,
    DATA_ERASED,
    SECRET_IN_ARGUMENTS,
)
"""What a position is refused with, also one that comes with questions."""


class CheckpointsView(AgentView):
    """The positions of a run."""

    scope = SESSIONS
    body_limit = CHECKPOINT_LIMIT

    @extend_schema(
        operation_id="save_checkpoint",
        parameters=[FENCED],
        request=PositionSerializer,
        responses={201: SavedDocument},
        extensions=refuses(*NOT_FENCED, *NOT_SAVED, PAUSE_OPEN, RUN_ENDED),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Make a position the run's head, if its parent still is."""
        body = PositionSerializer.read(request)
        once = once_from(request, rendered(saved_document, status=201))
        save_checkpoint(
            who=self.principal,
            run_id=id,
            fence=fence_of(request),
            position=PositionSerializer.position(body),
            once=once,
        )
        return answered(once)


class CheckpointView(AgentView):
    """One position of a run."""

    scope = SESSIONS

    @extend_schema(
        operation_id="get_checkpoint",
        responses=CheckpointDocument,
        extensions=refuses(CHECKPOINT_CORRUPTED, DATA_ERASED),
    )
    def get(self, request: Request, id: UUID, number: int) -> Response:
        """Read a checkpoint exactly as it was saved, its digest checked."""
        return _answer(self, id, number)


class HeadView(AgentView):
    """The newest position of a run."""

    scope = SESSIONS

    @extend_schema(
        operation_id="get_head",
        responses=CheckpointDocument,
        extensions=refuses(CHECKPOINT_CORRUPTED, DATA_ERASED),
    )
    def get(self, request: Request, id: UUID) -> Response:
        """Read the run's head exactly as it was saved, its digest checked."""
        return _answer(self, id, None)


def _answer(view: AgentView, run_id: UUID, number: int | None) -> Response:
    found = read_checkpoint(who=view.principal, run_id=run_id, number=number)
    return Response(checkpoint_document(found))
