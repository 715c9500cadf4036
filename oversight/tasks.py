"""What workers do for those who look back."""

from threading import BoundedSemaphore, Thread
from typing import Final
from uuid import UUID

import structlog
from celery import shared_task
from django.db import connections
from kombu.exceptions import OperationalError

from oversight.services.tallying import tally_all
from oversight.services.verifying import carry_out

log = structlog.get_logger(__name__)
_verifying: Final = BoundedSemaphore(1)


@shared_task(  # type: ignore[untyped-decorator]
    name="oversight.verify", ignore_result=True
)
def verify(tenant_id: str, verification_id: str) -> None:
    """Verify a chain on a thread of its own: approved actions must not wait for it.

    With one under way in this process the message is dropped; whoever asked sees after
    a minute that nobody took it, and asks again.
    """
    if _verifying.acquire(blocking=False):
        ids = (UUID(tenant_id), UUID(verification_id))
        Thread(target=_verify, args=ids, daemon=True, name="verify").start()


@shared_task(  # type: ignore[untyped-decorator]
    name="oversight.tally", ignore_result=True
)
def tally() -> None:
    """Count the days that are over, for the insights."""
    tally_all()


def _verify(tenant_id: UUID, verification_id: UUID) -> None:
    try:
        carry_out(tenant_id, verification_id)
    finally:
        _verifying.release()
        connections.close_all()


def send_for_verification(tenant_id: UUID, verification_id: UUID) -> None:
    """Best effort, after commit: what a lost broker forgets is asked for again."""
    ids = [str(tenant_id), str(verification_id)]
    try:
        verify.apply_async(ids, retry=False)
    except (OperationalError, OSError) as error:
        log.warning("verification_not_sent", id=ids[1], error=str(error))
