"""How every mutation runs: one transaction, in one order, with its audit entries.

A verb opens the tenant's scope, claims the idempotency key, takes the gate, does
its work, and appends to the audit chain last, because the chain's head is the one
row that all of a tenant's verbs share. Notifications follow the commit: a NOTIFY
inside would serialise all commits of the database.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final
from uuid import UUID

from django.db import OperationalError, connection

from audit.append import Actor, Journal, recorded
from kernel.locks import close_gate, share_gate
from kernel.problems import Problem
from tenants.idempotency import Once, check_once, keep_once

ATTEMPTS: Final = 3
CHANNEL: Final = "keyturn"
# serialisation failure, deadlock, lock not available: the whole verb may run again.
RETRIABLE: Final = frozenset({"40001", "40P01", "55P03"})

type Telling = Callable[["Verb"], None]
"""Writes down, in a verb's own transaction, who is to be told of what it recorded."""

_tellings: list[Telling] = []


def register_telling(*tellings: Telling) -> None:
    """Let a room above, which this app cannot know, tell of what verbs record."""
    _tellings[:] = tellings


class Gate(Enum):
    """How a verb stands to the tenant's rights: it reads them, or changes them."""

    NONE = "none"
    SHARED = "shared"
    EXCLUSIVE = "exclusive"


@dataclass(kw_only=True)
class Verb:
    """What a mutation's body is given: its journal, and what to do after commit."""

    tenant_id: UUID
    journal: Journal
    _changed: set[UUID] = field(default_factory=set)
    _after: list[Callable[[], None]] = field(default_factory=list)

    def record(
        self,
        kind: str,
        *,
        actor: Actor,
        subject: tuple[str, UUID],
        data: dict[str, Any] | None = None,
    ) -> None:
        """Add an audit entry to this transaction."""
        self.journal.record(kind=kind, actor=actor, subject=subject, data=data or {})

    def changed(self, *ids: UUID) -> None:
        """Tell waiters, after commit, that these requests or runs changed."""
        self._changed.update(ids)

    def after_commit(self, act: Callable[[], None]) -> None:
        """Do this once the transaction is durable; it may be lost, so sweep for it."""
        self._after.append(act)

    def tell(self) -> None:
        """Carry out what was left for after the commit."""
        notify(self.tenant_id, self._changed)
        for act in self._after:
            act()


def perform[T](
    tenant_id: UUID,
    work: Callable[[Verb], T],
    *,
    gate: Gate = Gate.SHARED,
    once: Once | None = None,
) -> T:
    """Run `work` as one verb; again, up to three times, when locks collide.

    Raises `Replayed` when `once` was answered before, and `Problem` `busy` (503)
    when the database stays contended.
    """
    for last in (False, False, True):
        try:
            verb, result = _attempt(tenant_id, work, gate, once)
        except OperationalError as error:
            if not is_retriable(error):
                raise
            if last:
                raise Problem("busy") from error
        else:
            verb.tell()
            return result
    raise AssertionError("unreachable")


def _attempt[T](
    tenant_id: UUID, work: Callable[[Verb], T], gate: Gate, once: Once | None
) -> tuple[Verb, T]:
    with recorded(tenant_id) as journal:
        check_once(tenant_id, once)
        _take(gate, tenant_id)
        verb = Verb(tenant_id=tenant_id, journal=journal)
        result = work(verb)
        keep_once(tenant_id, once, result)
        for telling in _tellings:
            telling(verb)
    return verb, result


def _take(gate: Gate, tenant_id: UUID) -> None:
    if gate is Gate.SHARED:
        share_gate(tenant_id)
    elif gate is Gate.EXCLUSIVE:
        close_gate(tenant_id)


def is_retriable(error: OperationalError) -> bool:
    """Whether nothing was done and the same verb may simply run again."""
    return getattr(error.__cause__, "sqlstate", None) in RETRIABLE


def notify(tenant_id: UUID, ids: set[UUID]) -> None:
    """One statement, after commit: tenant and id, nothing that tells a secret."""
    if ids:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) AS payload",
                [CHANNEL, [f"{tenant_id}:{one}" for one in ids]],
            )
