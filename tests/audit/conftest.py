"""Chains to break, and the one who can break them."""

from collections.abc import Callable, Iterator
from uuid import UUID

import psycopg
import pytest
from django.conf import settings

from audit.append import Actor, Appended, recorded
from audit.chain import link, preimage
from config.embedded import postgres
from kernel.ids import new_id

ALICE = Actor("member", "alice")

Chain = Callable[[int], tuple[Appended, ...]]


@pytest.fixture
def tenant_id() -> UUID:
    return new_id()


@pytest.fixture
def append(tenant_id: UUID) -> Chain:
    """Append that many entries to the tenant's chain in one transaction."""

    def appended(count: int) -> tuple[Appended, ...]:
        with recorded(tenant_id) as journal:
            for number in range(count):
                journal.record(
                    kind="invoice.paid",
                    actor=ALICE,
                    subject=("invoice", new_id()),
                    data={"number": number, "amount": "10.00", "ratio": 1e-7},
                )
        return journal.entries

    return appended


class Superuser:
    """An administrator of the database: above roles, policies and triggers.

    Without the key, though.
    """

    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection = connection

    def execute(self, statement: str, *parameters: object) -> int:
        """Run one statement with every trigger out of the way; return its row count."""
        with self.connection.transaction():
            for table in ("audit_entry", "audit_head"):
                self.connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            count = self.connection.execute(statement, parameters).rowcount
            self._restore_triggers()
        return count

    def _restore_triggers(self) -> None:
        triggers = self.connection.execute(
            "SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE NOT tgisinternal"
            " AND tgrelid IN ('audit_entry'::regclass, 'audit_head'::regclass)"
        )
        for table, name in triggers.fetchall():
            self.connection.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}")

    def change(self, tenant_id: UUID, entry: int, /, **columns: object) -> None:
        """Rewrite columns of one entry."""
        assignments = ", ".join(f"{name} = %s" for name in columns)
        count = self.execute(
            f"UPDATE audit_entry SET {assignments} WHERE tenant_id = %s AND seq = %s",
            *columns.values(),
            tenant_id,
            entry,
        )
        assert count == 1

    def column(self, tenant_id: UUID, seq: int, name: str):
        row = self.connection.execute(
            f"SELECT {name} FROM audit_entry WHERE tenant_id = %s AND seq = %s",
            (tenant_id, seq),
        ).fetchone()
        assert row is not None
        return row[0]

    def rehash(self, tenant_id: UUID) -> None:
        """Make every hash of the chain right again, and the head; sign nothing."""
        rows = self.connection.execute(
            "SELECT seq, body FROM audit_entry WHERE tenant_id = %s ORDER BY seq",
            (tenant_id,),
        ).fetchall()
        seq, prev = 0, bytes(32)
        for seq, body in rows:
            statement = preimage(tenant_id=tenant_id, seq=seq, prev=prev, body=body)
            self.change(tenant_id, seq, prev=prev, hash=link(statement))
            prev = link(statement)
        self.set_head(tenant_id, seq, prev)

    def set_head(self, tenant_id: UUID, seq: int, hash: bytes) -> None:
        self.execute(
            "UPDATE audit_head SET seq = %s, hash = %s WHERE tenant_id = %s",
            seq,
            hash,
            tenant_id,
        )

    def cut(self, tenant_id: UUID, after: int) -> None:
        """Remove everything after an entry and put the head there."""
        last = self.column(tenant_id, after, "hash")
        self.execute(
            "DELETE FROM audit_entry WHERE tenant_id = %s AND seq > %s",
            tenant_id,
            after,
        )
        self.set_head(tenant_id, after, last)


@pytest.fixture(scope="package")
def superuser(django_db_setup: None) -> Iterator[Superuser]:
    url = postgres.url(settings.DATA_DIR, "postgres", "keyturn")
    with psycopg.connect(url, autocommit=True) as connection:
        yield Superuser(connection)
