"""The tenant scope: which tenant's rows a transaction may see at all.

Row-level security compares every row with `app.tenant`. The setting is local to
the transaction, so a pooled connection cannot carry it to the next request.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant of the open transaction; `memo` keeps what was read once, until then."""

    tenant_id: UUID
    memo: dict[str, Any] = field(default_factory=dict)


_scope: Final[ContextVar[Scope | None]] = ContextVar("tenant_scope", default=None)


def current_scope() -> Scope | None:
    """The scope that this code runs in, if it runs in one."""
    return _scope.get()


class NestedScope(RuntimeError):
    """A tenant transaction was opened inside another transaction."""


@contextmanager
def tenant_transaction(tenant_id: UUID, *, snapshot: bool = False) -> Iterator[None]:
    """One READ COMMITTED transaction in which only `tenant_id`'s rows exist.

    Never nested: a savepoint's rollback would drop the setting, and a verb that
    does not own its commit cannot promise what it wrote. A `snapshot` reads only, and
    sees everything as it was at one moment.
    """
    if connection.in_atomic_block:
        raise NestedScope("a tenant transaction must be the outermost one")
    with transaction.atomic(), connection.cursor() as cursor:
        if snapshot:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT set_config('app.tenant', %s, true)", [str(tenant_id)])
        token = _scope.set(Scope(tenant_id))
        try:
            yield
        finally:
            _scope.reset(token)
