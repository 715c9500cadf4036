"""From when on a wording that waits is to be looked at again."""

from datetime import datetime, timedelta
from typing import Any

from approvals.models import Nudge, Queue, Request


def watch(queue: Queue, request: Request, number: int, now: datetime) -> None:
    """Begin anew with this wording; a queue that does neither is left alone."""
    remind, escalate = _at(queue.remind_after, now), _at(queue.escalate_after, now)
    values: dict[str, Any] = {
        "revision": number,
        "remind_at": remind,
        "escalate_at": escalate,
        "reminded_at": None,
        "escalated_at": None,
        "asked_too": [],
        "due_at": min(filter(None, (remind, escalate)), default=None),
    }
    known = number > 1 and Nudge.objects.filter(request=request).update(**values)
    if not known and values["due_at"] is not None:
        Nudge.objects.create(tenant_id=request.tenant_id, request=request, **values)


def _at(seconds: int | None, now: datetime) -> datetime | None:
    return None if seconds is None else now + timedelta(seconds=seconds)
