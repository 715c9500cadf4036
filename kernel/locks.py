"""Advisory locks that every verb takes in the same order (docs/architecture.md).

The gate of a tenant is shared by verbs that rely on who may do what, and
exclusive to verbs that change it: so nobody's rights move under a decision.
"""

from uuid import UUID

from django.db import connection


def share_gate(tenant_id: UUID) -> None:
    """Hold the tenant's rights still until this transaction ends."""
    _execute("SELECT pg_advisory_xact_lock_shared(keyturn_gate(%s))", tenant_id)


def close_gate(tenant_id: UUID) -> None:
    """Wait for every verb that relies on the tenant's rights, then hold them off."""
    _execute("SELECT pg_advisory_xact_lock(keyturn_gate(%s))", tenant_id)


def lock_installation() -> None:
    """Hold off every other founding of a tenant until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('installation', 0))"
        )


def try_request_key(tenant_id: UUID, principal: UUID, key: str) -> bool:
    """Whether this transaction is the one that handles the idempotency key."""
    name = f"idempotency:{tenant_id}:{principal}:{key}"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [name]
        )
        return bool(cursor.fetchone()[0])


def _execute(statement: str, tenant_id: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [tenant_id])
