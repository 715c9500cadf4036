"""Keeping a claim while its worker lives, so that a dead worker's lapses soon.

A claim is short, and a thread extends it. It is not what makes an action happen once:
the grant and the effect's attempts are. It says how soon somebody else may look.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

import structlog
from django.db import DatabaseError, connection

from approvals.resume.job import Claimed, claim_lasts, extend
from kernel.scope import tenant_transaction

# Longer than any job can take: whoever hangs does not keep it for ever.
LONGEST: Final = 300  # seconds
BEATS: Final = 3  # in the time that a claim lasts

log = structlog.get_logger(__name__)


@contextmanager
def kept(claimed: Claimed) -> Iterator[None]:
    """Extend the claim at intervals for as long as the block runs."""
    over = Event()
    beating = Thread(target=_beat, args=(claimed, over), daemon=True)
    beating.start()
    try:
        yield
    finally:
        over.set()
        beating.join()


def _beat(claimed: Claimed, over: Event) -> None:
    end = time.monotonic() + LONGEST
    pause = claim_lasts().total_seconds() / BEATS
    try:
        while not over.wait(pause) and time.monotonic() < end and _extend(claimed):
            pass
    finally:
        connection.close()


def _extend(claimed: Claimed) -> bool:
    """Whether it may still be ours; a database that is away may come back in time."""
    try:
        with tenant_transaction(claimed.tenant_id):
            return extend(claimed)
    except DatabaseError as error:
        log.info("claim_not_extended", job=str(claimed.job_id), error=str(error))
        return True
