"""Handing a job's id to the broker. The broker carries ids, never authority."""

from typing import Final
from uuid import UUID

import structlog
from celery import current_app
from kombu.exceptions import OperationalError

RESUME_TASK: Final = "approvals.resume"

log = structlog.get_logger(__name__)


def publish(job_id: UUID) -> None:
    """Best effort, after commit: what a lost broker forgets, the sweeper repeats."""
    try:
        current_app.send_task(RESUME_TASK, args=[str(job_id)], retry=False)
    except (OperationalError, OSError) as error:
        log.warning("resume_job_not_published", job=str(job_id), error=str(error))
