"""Going through what is to be erased: bounded, and as often as it takes.

What was erased and not yet removed is found again by its `due_at`: a pass that is killed
in the middle leaves the rest to the next one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from approvals.services.erasure import (
    STEP,
    erase_outdated,
    purge_leftovers,
    purge_step,
)
from audit.queries import tenants_with_chain
from kernel.scope import tenant_transaction
from sessions.models import Item, Session

MOST_STEPS: Final = 20
"""Transactions of one pass over a tenant, where nobody waits for its end."""


@dataclass(kw_only=True)
class Purged:
    """What a pass did: sessions erased, and rows removed or emptied."""

    sessions: int = 0
    rows: int = 0


def purge_all(*, steps: int = MOST_STEPS) -> Purged:
    """One bounded pass over every tenant."""
    total = Purged()
    for tenant_id in tenants_with_chain():
        one = purge_tenant(tenant_id, steps=steps)
        total.sessions += one.sessions
        total.rows += one.rows
    return total


def purge_tenant(
    tenant_id: UUID,
    *,
    steps: int | None = None,
    step: int = STEP,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Purged:
    """A pass over one tenant: at most `steps` transactions that remove; None: all.

    `progress` is told how many rows are gone, and of how many at least.
    """
    purged = Purged(sessions=erase_outdated(tenant_id))
    while steps is None and (more := erase_outdated(tenant_id)):
        purged.sessions += more
    left = float("inf") if steps is None else steps
    total = _items_to_go(tenant_id)
    for count in _steps(tenant_id, step):
        purged.rows += count
        left -= 1
        progress(purged.rows, max(total, purged.rows))
        if left <= 0:
            break
    return purged


def _steps(tenant_id: UUID, step: int) -> Iterable[int]:
    for session_id in _due(tenant_id):
        while count := purge_step(tenant_id, session_id, most=step):
            yield count
    while count := purge_leftovers(tenant_id, most=step):
        yield count


def _due(tenant_id: UUID) -> list[UUID]:
    with tenant_transaction(tenant_id):
        due = Session.objects.filter(tenant_id=tenant_id, due_at__isnull=False)
        return list(due.order_by("due_at").values_list("id", flat=True))


def _items_to_go(tenant_id: UUID) -> int:
    with tenant_transaction(tenant_id):
        items = Item.objects.filter(tenant_id=tenant_id, session__due_at__isnull=False)
        return items.count()
