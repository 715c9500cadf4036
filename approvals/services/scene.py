"""Locking what a verb on a request touches, always in the same order."""

from datetime import datetime
from uuid import UUID

from approvals.models import Pause, Request
from approvals.problems import NOT_FOUND
from approvals.queries import lock_pause, lock_request
from approvals.services.asking import Scene
from checkpoints.models import Checkpoint
from sessions.models import Run, Session
from sessions.runs import lock_run
from tenants.models import ApiKey


def lock_scene_of(request_id: UUID) -> Request:
    """Lock the request's run, its pause, then itself. Raises `not_found`."""
    found = Request.objects.filter(id=request_id).values("run_id", "pause_id").first()
    if found is None:
        raise NOT_FOUND("No such request.")
    lock_run(found["run_id"])
    lock_pause(found["pause_id"])
    return lock_request(request_id)


def scene_of(request: Request, now: datetime) -> Scene:
    """What a further revision of the request is sealed against."""
    pause = Pause.objects.get(id=request.pause_id)
    return Scene(
        session=Session.objects.get(id=request.session_id),
        run=Run.objects.get(id=request.run_id),
        checkpoint=Checkpoint.objects.get(id=pause.checkpoint_id),
        pause=pause,
        key=ApiKey.objects.select_related("agent").get(id=request.key_id),
        now=now,
    )
