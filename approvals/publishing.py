"""Handing an id to the broker. The broker carries ids, never authority."""

from typing import Final
from uuid import UUID

import structlog
from celery import current_app
from kombu.exceptions import OperationalError

RESUME_TASK: Final = "approvals.resume"
DELIVER_TASK: Final = "approvals.deliver"

log = structlog.get_logger(__name__)


def publish(job_id: UUID) -> None:
    """Best effort, after commit: what a lost broker forgets, the sweeper repeats."""
    _send(RESUME_TASK, job_id, "resume_job_not_published")


def publish_delivery(delivery_id: UUID) -> None:
    """The same for a webhook's message."""
    _send(DELIVER_TASK, delivery_id, "delivery_not_published")


def _send(task: str, id: UUID, complaint: str) -> None:
    try:
        current_app.send_task(task, args=[str(id)], retry=False)
    except (OperationalError, OSError) as error:
        log.warning(complaint, job=str(id), error=str(error))
