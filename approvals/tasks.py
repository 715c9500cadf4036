"""What workers and the beat run. Tasks carry ids; everything else is read live."""

import time
from dataclasses import dataclass
from threading import BoundedSemaphore, Thread
from typing import Final
from uuid import UUID

from celery import shared_task
from django.db import connections

from approvals.publishing import DELIVER_TASK, RESUME_TASK
from approvals.resume.anchoring import anchor_or_stop
from approvals.resume.delivering import deliver
from approvals.resume.purging import purge_all, sweep_all
from approvals.resume.sweep import sweep
from approvals.resume.work import work

SOONEST: Final = 1.0  # seconds from one sweep of this process to its next
AT_ONCE: Final = 4  # addresses that one process delivers to at once


@dataclass(slots=True)
class Pace:
    """How often this process sweeps, by the one clock of its own that it may use."""

    last: float = float("-inf")

    def may_begin(self) -> bool:
        """Whether the last one began long enough ago; then this one begins now."""
        now = time.monotonic()
        if now - self.last < SOONEST:
            return False
        self.last = now
        return True


_pace: Final = Pace()


@shared_task(  # type: ignore[untyped-decorator]
    name=RESUME_TASK, ignore_result=True
)
def resume(job_id: str) -> None:
    """Work on one resume job, if it is due."""
    work(UUID(job_id))


_delivering: Final = BoundedSemaphore(AT_ONCE)


@shared_task(  # type: ignore[untyped-decorator]
    name=DELIVER_TASK, ignore_result=True
)
def deliver_message(delivery_id: str) -> None:
    """Deliver to one webhook, on a thread of its own.

    A receiver may take its time; approved actions must not wait for it. With too many
    at once, or when the process ends meanwhile, a sweep offers the message again.
    """
    if _delivering.acquire(blocking=False):
        Thread(
            target=_deliver, args=(UUID(delivery_id),), daemon=True, name="deliver"
        ).start()


def _deliver(delivery_id: UUID) -> None:
    try:
        deliver(delivery_id)
    finally:
        _delivering.release()
        connections.close_all()


@shared_task(  # type: ignore[untyped-decorator]
    name="approvals.sweep", ignore_result=True
)
def sweep_due() -> None:
    """Find what is due and nobody is working on. Safe to run twice at once.

    What piled up while no worker ran is one sweep: the others find nothing new.
    """
    if _pace.may_begin():
        sweep()


@shared_task(  # type: ignore[untyped-decorator]
    name="approvals.anchor", ignore_result=True
)
def anchor_heads() -> None:
    """Write the heads of the audit chains to their separate sink."""
    anchor_or_stop()


@shared_task(  # type: ignore[untyped-decorator]
    name="approvals.purge", ignore_result=True
)
def purge() -> None:
    """Remove some of what is erased, and erase what was kept long enough."""
    purge_all()


@shared_task(  # type: ignore[untyped-decorator]
    name="approvals.sweep_files", ignore_result=True
)
def sweep_files() -> None:
    """Remove files of artifacts that only a crash can have left."""
    sweep_all()
