"""Workers that can die at any barrier, or be held at one while the world goes on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from approvals.resume import barriers
from approvals.resume.barriers import ACK, CLAIM, INTENT, NAMES, OUTCOME, SEND
from approvals.resume.work import work

DEATHS: Final = NAMES
HOLDS: Final = (CLAIM, INTENT, SEND, OUTCOME, ACK)  # outside any transaction
PATIENCE: Final = 30  # seconds


class Died(BaseException):
    """`kill -9` as far as one thread can tell: nothing below catches it."""


@dataclass
class Plan:
    """Where this worker dies, or is held."""

    dies_at: str | None = None
    held_at: str | None = None
    arrived: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def reach(self, name: str) -> None:
        if name == self.held_at:
            self.arrived.set()
            self.released.wait(PATIENCE)
        if name == self.dies_at:
            raise Died


_plans: dict[int, Plan] = {}


def _arrive(folder: Path, name: str) -> None:
    plan = _plans.get(threading.get_ident())
    if plan is not None:
        plan.reach(name)


@contextmanager
def armed() -> Iterator[None]:
    """Barriers ask the plan of the thread that reaches them."""
    waits, folder = barriers._wait, settings.TEST_BARRIERS
    barriers._wait, settings.TEST_BARRIERS = _arrive, "armed by the machine"
    try:
        yield
    finally:
        barriers._wait, settings.TEST_BARRIERS = waits, folder


def work_until(job_id: UUID, dies_at: str | None = None) -> str:
    """Work on a job in this thread; "died" if it came to where it dies."""
    _plans[threading.get_ident()] = Plan(dies_at=dies_at)
    try:
        return work(job_id)
    except Died:
        return f"died at {dies_at}"
    finally:
        del _plans[threading.get_ident()]


class Held:
    """A worker that stopped on its way, or came to its end without passing there."""

    def __init__(self, job_id: UUID, held_at: str) -> None:
        self.job_id = job_id
        self.plan = Plan(held_at=held_at)
        self.outcome: str | None = None
        self.error: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        self._until_still()

    @property
    def at(self) -> str | None:
        """Where it is held; None once it is over."""
        return None if self._over.is_set() else self.plan.held_at

    def go_on(self, dies_at: str | None = None) -> str:
        """Release it; `dies_at` may be where it is held."""
        self.plan.dies_at = dies_at
        self.plan.held_at = None
        self.plan.released.set()
        self._thread.join(PATIENCE)
        if self.error is not None:
            raise self.error
        assert self.outcome is not None, "a released worker does not end"
        return self.outcome

    def _until_still(self) -> None:
        while not self.plan.arrived.wait(0.002) and not self._over.is_set():
            pass

    def _work(self) -> None:
        _plans[threading.get_ident()] = self.plan
        try:
            self.outcome = work(self.job_id)
        except Died:
            self.outcome = f"died at {self.plan.dies_at}"
        except BaseException as error:
            self.error = error
        finally:
            del _plans[threading.get_ident()]
            connection.close()
            self._over.set()
