"""Checkpoints, over HTTP."""

from typing import Final
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints.api.documents import (
    checkpoint_document,
    fork_document,
    restored_document,
    saved_document,
)
from checkpoints.checkpoint import (
    CHECKPOINT_CORRUPTED,
    SCHEMA_UNSUPPORTED,
    STALE_CHECKPOINT,
)
from checkpoints.effects import EFFECTS_OPEN
from checkpoints.serializers import (
    PAYLOAD_INVALID,
    CheckpointDocument,
    ForkDocument,
    ForkSerializer,
    PositionSerializer,
    RestoredDocument,
    SavedDocument,
)
from checkpoints.services import (
    fork_run,
    read_checkpoint,
    restore_checkpoint,
    save_checkpoint,
)
from checkpoints.upgrades import HEADER_INVALID, PAYLOAD_TOO_LARGE
from kernel.problems import SECRET_IN_ARGUMENTS
from sessions.branches import TOO_MANY_BRANCHES
from sessions.rest import FENCED, NOT_FENCED, fence_of
from sessions.runs import PAUSE_OPEN, RUN_ENDED
from sessions.serializers import NothingSerializer
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
NOT_RESTORED: Final = (CHECKPOINT_CORRUPTED, SCHEMA_UNSUPPORTED, DATA_ERASED)
"""What a stored one is refused with."""


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
        extensions=refuses(*NOT_RESTORED),
    )
    def get(self, request: Request, id: UUID, number: int) -> Response:
        """Read a checkpoint exactly as it was saved, its digest checked."""
        return _answer(self, id, number)


class RestoreView(AgentView):
    """Going on from a position of a run."""

    scope = SESSIONS

    @extend_schema(
        operation_id="restore_checkpoint",
        request=NothingSerializer,
        responses=RestoredDocument,
        extensions=refuses(*NOT_RESTORED),
    )
    def post(self, request: Request, id: UUID, number: int) -> HttpResponse:
        """Read a checkpoint in today's schema, with a report; on record."""
        return _restored(self, request, id, number)


class RestoreHeadView(AgentView):
    """Going on from the newest position of a run."""

    scope = SESSIONS

    @extend_schema(
        operation_id="restore_head",
        request=NothingSerializer,
        responses=RestoredDocument,
        extensions=refuses(*NOT_RESTORED),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Read the run's head in today's schema, with a report; on record."""
        return _restored(self, request, id, None)


class ForkView(AgentView):
    """Going on from a position that need not be the head."""

    scope = SESSIONS

    @extend_schema(
        operation_id="fork_run",
        request=ForkSerializer,
        responses={201: ForkDocument},
        extensions=refuses(*NOT_RESTORED, EFFECTS_OPEN, TOO_MANY_BRANCHES),
    )
    def post(self, request: Request, id: UUID, number: int) -> HttpResponse:
        """Open a run that begins at this checkpoint, with nothing of its authority."""
        body = ForkSerializer.read(request)
        once = once_from(request, rendered(fork_document, status=201))
        fork_run(who=self.principal, run_id=id, number=number, once=once, **body)
        return answered(once)


class HeadView(AgentView):
    """The newest position of a run."""

    scope = SESSIONS

    @extend_schema(
        operation_id="get_head",
        responses=CheckpointDocument,
        extensions=refuses(*NOT_RESTORED),
    )
    def get(self, request: Request, id: UUID) -> Response:
        """Read the run's head exactly as it was saved, its digest checked."""
        return _answer(self, id, None)


def _answer(view: AgentView, run_id: UUID, number: int | None) -> Response:
    found = read_checkpoint(who=view.principal, run_id=run_id, number=number)
    return Response(checkpoint_document(found))


def _restored(
    view: AgentView, request: Request, run_id: UUID, number: int | None
) -> HttpResponse:
    """Repeating it does no harm, so no answer is kept: it would hold the payload."""
    NothingSerializer.read(request)
    once = once_from(request, rendered(restored_document))
    once.key = None
    restore_checkpoint(who=view.principal, run_id=run_id, number=number, once=once)
    return answered(once)
