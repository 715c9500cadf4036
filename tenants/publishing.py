"""Handing an id to the broker. The broker carries ids, never authority."""

from typing import Final
from uuid import UUID

import structlog
from celery import current_app
from kombu.exceptions import OperationalError

MAIL_TASK: Final = "tenants.mail"

log = structlog.get_logger(__name__)


def publish_mail(mail_id: UUID) -> None:
    """Best effort, after commit: what a lost broker forgets, the sweeper repeats."""
    hand_over(MAIL_TASK, mail_id, "mail_not_published")


def hand_over(task: str, id: UUID, complaint: str) -> None:
    """Send the task with the id alone; a broker that is away is a line in the log."""
    try:
        current_app.send_task(task, args=[str(id)], retry=False)
    except (OperationalError, OSError) as error:
        log.warning(complaint, job=str(id), error=str(error))
