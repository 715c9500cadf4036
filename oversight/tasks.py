"""What workers do for those who look back."""

from threading import Lock, Thread
from typing import Final
from uuid import UUID

import structlog
from celery import shared_task
from django.db import connections
from kombu.exceptions import OperationalError

from oversight.services.tallying import tally_all
from oversight.services.verifying import WORD, carry_out, keep_waiting

log = structlog.get_logger(__name__)
_verifying: Final = Lock()


@shared_task(  # type: ignore[untyped-decorator]
    name="oversight.verify", ignore_result=True
)
def verify(tenant_id: str, verification_id: str) -> None:
    """Verify a chain on a thread of its own: approved actions must not wait for it."""
    ids = (UUID(tenant_id), UUID(verification_id))
    Thread(target=_verify, args=ids, daemon=True, name="verify").start()


@shared_task(  # type: ignore[untyped-decorator]
    name="oversight.tally", ignore_result=True
)
def tally() -> None:
    """Count the days that are over, for the insights."""
    tally_all()


def _verify(tenant_id: UUID, verification_id: UUID) -> None:
    """One after another in a process; what waits its turn says that it still does."""
    try:
        while not _verifying.acquire(timeout=WORD):
            if not keep_waiting(tenant_id, verification_id):
                return
            connections.close_all()
        try:
            carry_out(tenant_id, verification_id)
        finally:
            _verifying.release()
    finally:
        connections.close_all()


def send_for_verification(tenant_id: UUID, verification_id: UUID) -> None:
    """Best effort, after commit: what a lost broker forgets is asked for again."""
    ids = [str(tenant_id), str(verification_id)]
    try:
        verify.apply_async(ids, retry=False)
    except (OperationalError, OSError) as error:
        log.warning("verification_not_sent", id=ids[1], error=str(error))
