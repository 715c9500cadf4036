"""Going through what is to be erased: bounded, and as often as it takes.

What was erased and not yet removed is found again by its `due_at`: a pass that is killed
in the middle leaves the rest to the next one.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import structlog
from django.db import DatabaseError

from approvals.services.erasure import (
    STEP,
    let_go,
    outdated_in,
    purge_leftovers,
    purge_step,
)
from audit.queries import tenants_with_chain
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Artifact, Item, Session
from sessions.services.artifacts import (
    drop_artifacts,
    drop_files,
    expire_artifacts,
    sweep_files,
)

MOST_STEPS: Final = 20
"""Transactions of one pass over a tenant, where nobody waits for its end."""

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class Purged:
    """What a pass did: sessions erased, and rows removed or emptied.

    `deferred` are the sessions and tenants that it could not go through.
    """

    sessions: int = 0
    rows: int = 0
    deferred: set[UUID] = field(default_factory=set)

    def add(self, other: "Purged") -> None:
        """Count what another did as well."""
        self.sessions += other.sessions
        self.rows += other.rows
        self.deferred |= other.deferred

    @contextmanager
    def deferring(
        self, tenant_id: UUID, session_id: UUID | None = None
    ) -> Iterator[None]:
        """What is spoilt must not keep the rest: it is told of, and tried again."""
        try:
            yield
        except (Problem, DatabaseError, OSError) as error:
            self.deferred.add(session_id or tenant_id)
            log.warning(
                "purge_deferred",
                tenant=str(tenant_id),
                session=session_id and str(session_id),
                code=_code_of(error),
            )


def purge_all(*, steps: int = MOST_STEPS) -> Purged:
    """One bounded pass over every tenant."""
    total = Purged()
    for tenant_id in tenants_with_chain():
        total.add(purge_tenant(tenant_id, steps=steps))
    return total


def sweep_all() -> Purged:
    """Remove files of all tenants that only a crash can have left."""
    total = Purged()
    for tenant_id in tenants_with_chain():
        with total.deferring(tenant_id):
            total.rows += sweep_files(tenant_id)
    return total


def purge_tenant(
    tenant_id: UUID,
    *,
    steps: int | None = None,
    step: int = STEP,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Purged:
    """A pass over one tenant: at most `steps` transactions that remove; None: all.

    `progress` is told how many rows are gone, and of how many at least. What cannot be
    purged is left for the next pass.
    """
    purged = Purged()
    with purged.deferring(tenant_id):
        _erase_outdated(tenant_id, purged, is_all=steps is None)
        _remove(tenant_id, purged, steps, step, progress)
        if steps is None:
            sweep_files(tenant_id)
    return purged


def _erase_outdated(tenant_id: UUID, purged: Purged, *, is_all: bool) -> None:
    """Those that cannot go, however many, do not keep the ones behind them."""
    tried: set[UUID] = set()
    while found := outdated_in(tenant_id, but=tried):
        tried.update(found)
        for session_id in found:
            with purged.deferring(tenant_id, session_id):
                purged.sessions += let_go(tenant_id, session_id)
        if purged.sessions and not is_all:
            break


def _remove(
    tenant_id: UUID,
    purged: Purged,
    steps: int | None,
    step: int,
    progress: Callable[[int, int], None],
) -> None:
    left = float("inf") if steps is None else steps
    total = _rows_to_go(tenant_id)
    for count in _steps(tenant_id, step, purged):
        purged.rows += count
        left -= 1
        progress(purged.rows, max(total, purged.rows))
        if left <= 0:
            break


def _steps(tenant_id: UUID, step: int, purged: Purged) -> Iterable[int]:
    with purged.deferring(tenant_id):
        yield from _artifacts(tenant_id)
    for session_id in _due(tenant_id):
        with purged.deferring(tenant_id, session_id):
            drop_files(tenant_id, session_id)  # while `due_at` still leads here
            while count := purge_step(tenant_id, session_id, most=step):
                yield count
    while count := purge_leftovers(tenant_id, most=step):
        yield count


def _artifacts(tenant_id: UUID) -> Iterable[int]:
    """Those that expired or were taken away; what expires is gone once it is dropped."""
    while expire_artifacts(tenant_id):
        yield 0
    while count := drop_artifacts(tenant_id):
        yield count


def _code_of(error: Problem | DatabaseError | OSError) -> str:
    """Never the message: the database quotes in it what it could not read."""
    if isinstance(error, Problem):
        return error.code
    return getattr(error.__cause__, "sqlstate", None) or type(error).__name__


def _due(tenant_id: UUID) -> list[UUID]:
    with tenant_transaction(tenant_id):
        due = Session.objects.filter(tenant_id=tenant_id, due_at__isnull=False)
        return list(due.order_by("due_at").values_list("id", flat=True))


def _rows_to_go(tenant_id: UUID) -> int:
    with tenant_transaction(tenant_id):
        erased = {"tenant_id": tenant_id, "session__due_at__isnull": False}
        artifacts = Artifact.objects.filter(**erased).count()
        return Item.objects.filter(**erased).count() + artifacts
