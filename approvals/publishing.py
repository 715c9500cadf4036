"""Handing an id to the broker. The broker carries ids, never authority."""

from typing import Final
from uuid import UUID

from tenants.publishing import hand_over

RESUME_TASK: Final = "approvals.resume"
DELIVER_TASK: Final = "approvals.deliver"


def publish(job_id: UUID) -> None:
    """Best effort, after commit: what a lost broker forgets, the sweeper repeats."""
    hand_over(RESUME_TASK, job_id, "resume_job_not_published")


def publish_delivery(delivery_id: UUID) -> None:
    """The same for a webhook's message."""
    hand_over(DELIVER_TASK, delivery_id, "delivery_not_published")
