"""What workers run for this app. Tasks carry ids; everything else is read live."""

from threading import BoundedSemaphore, Thread
from typing import Final
from uuid import UUID

from celery import shared_task
from django.db import connections

from tenants.publishing import MAIL_TASK
from tenants.services.mailing import send_mail

AT_ONCE: Final = 2  # letters that one process sends at once

_sending: Final = BoundedSemaphore(AT_ONCE)


@shared_task(  # type: ignore[untyped-decorator]
    name=MAIL_TASK, ignore_result=True
)
def mail(mail_id: str) -> None:
    """Send one letter, on a thread of its own: a mail server may take its time.

    With too many at once, or when the process ends meanwhile, a sweep offers it again.
    """
    if _sending.acquire(blocking=False):
        Thread(target=_send, args=(UUID(mail_id),), daemon=True, name="mail").start()


def _send(mail_id: UUID) -> None:
    try:
        send_mail(mail_id)
    finally:
        _sending.release()
        connections.close_all()
