"""Reading chains: one tenant's from end to end, and which tenants have one.

A chain is read through a server-side cursor in binary, in one snapshot, so that it
agrees with its head however long it takes and whoever appends meanwhile.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, connections

from kernel.scope import tenant_transaction

ROWS_A_FETCH = 2_000
_LINKS = """
    SELECT seq, sha256(body), hash, CASE WHEN wanted THEN body END, signature, key_id
    FROM (SELECT *, seq = ANY(%s::bigint[]) AS wanted FROM audit_entry) entry
    WHERE tenant_id = %s AND seq BETWEEN %s AND %s ORDER BY seq
"""

NameOf = Callable[[UUID], str | None]
_name_of: list[NameOf] = []


class Evidence(NamedTuple):
    """What proves an entry: see `audit.chain`."""

    seq: int
    body: bytes
    prev: bytes
    hash: bytes
    signature: bytes
    key_id: str


class Copy(NamedTuple):
    """The columns that repeat what the body says. `data` is JSON text."""

    id: UUID
    at: datetime
    kind: str
    actor_type: str
    actor_id: str
    subject_type: str
    subject_id: UUID | None
    data: str


class Link(NamedTuple):
    """An entry as what follows it needs it; `body` and signature only where wanted."""

    seq: int
    digest: bytes  # SHA-256 of the body
    hash: bytes
    body: bytes | None
    signature: bytes
    key_id: str


class StoredHead(NamedTuple):
    """Where the database says that the chain ends."""

    seq: int
    hash: bytes


@contextmanager
def chain_snapshot(tenant_id: UUID) -> Iterator[None]:
    """The tenant's rows as of one moment, for as long as reading them takes."""
    with tenant_transaction(tenant_id, snapshot=True), connection.cursor() as cursor:
        cursor.execute("SET LOCAL transaction_timeout = 0")
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        yield


def stored_head(tenant_id: UUID) -> StoredHead | None:
    """The tenant's head, inside its scope; None if it has none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq, hash FROM audit_head WHERE tenant_id = %s", [tenant_id]
        )
        row = cursor.fetchone()
    return StoredHead(row[0], bytes(row[1])) if row else None


def stored_hash(tenant_id: UUID, seq: int) -> bytes | None:
    """The hash of one entry, inside the tenant's scope; None if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT hash FROM audit_entry WHERE tenant_id = %s AND seq = %s",
            [tenant_id, seq],
        )
        row = cursor.fetchone()
    return bytes(row[0]) if row else None


def stored_evidence(tenant_id: UUID) -> Iterator[Evidence]:
    """The chain in order, inside `chain_snapshot`."""
    columns = ", ".join(Evidence._fields)
    for row in _stream(columns, tenant_id):
        yield Evidence._make(row)


def stored_after(tenant_id: UUID, after: int, most: int) -> Iterator[Evidence]:
    """At most `most` entries after number `after`, inside `chain_snapshot`."""
    columns = ", ".join(Evidence._fields)
    with connection.connection.cursor("audit_after", binary=True) as cursor:
        cursor.itersize = ROWS_A_FETCH
        cursor.execute(
            f"SELECT {columns} FROM audit_entry WHERE tenant_id = %s AND seq > %s"  # noqa: S608
            " ORDER BY seq LIMIT %s",
            [tenant_id, after, most],
        )
        yield from map(Evidence._make, cursor)


def stored_entries(tenant_id: UUID) -> Iterator[tuple[Evidence, Copy]]:
    """The chain in order with its queryable columns, inside `chain_snapshot`."""
    evidence = len(Evidence._fields)
    columns = ", ".join([*Evidence._fields, *Copy._fields[:-1], "data::text"])
    for row in _stream(columns, tenant_id):
        yield Evidence._make(row[:evidence]), Copy._make(row[evidence:])


def stored_links(
    tenant_id: UUID, first: int, last: int, *, whole: Sequence[int]
) -> Iterator[Link]:
    """From `first` to `last`, inside `chain_snapshot`; those in `whole` with bodies."""
    with connection.connection.cursor("audit_links", binary=True) as cursor:
        cursor.itersize = ROWS_A_FETCH
        cursor.execute(_LINKS, [list(whole), tenant_id, first, last])
        yield from map(Link._make, cursor)


def tenants_with_chain() -> list[UUID]:
    """Every tenant that has entries or a head, asked as the relay."""
    with connections["relay"].cursor() as cursor:
        cursor.execute("SELECT audit_tenants()")
        return [tenant_id for (tenant_id,) in cursor.fetchall()]


def register_tenant_names(name_of: NameOf) -> None:
    """Let commands show and accept the names of tenants, which this app cannot know.

    `name_of` is called inside the tenant's scope and returns its name, or None.
    """
    _name_of[:] = [name_of]


def tenant_name(tenant_id: UUID) -> str:
    """What people call the tenant; its id where nobody told."""
    if not _name_of:
        return str(tenant_id)
    with tenant_transaction(tenant_id):
        return _name_of[0](tenant_id) or str(tenant_id)


def find_tenant(name: str) -> UUID:
    """The tenant of that id or name. Raises LookupError."""
    try:
        return UUID(name)
    except ValueError:
        pass
    for tenant_id in tenants_with_chain():
        if tenant_name(tenant_id) == name:
            return tenant_id
    raise LookupError(f"No tenant {name!r} has an audit chain.")


def _stream(columns: str, tenant_id: UUID) -> Iterator[tuple[Any, ...]]:
    statement = f"SELECT {columns} FROM audit_entry WHERE tenant_id = %s ORDER BY seq"  # noqa: S608
    with connection.connection.cursor("audit_chain", binary=True) as cursor:
        cursor.itersize = ROWS_A_FETCH
        cursor.execute(statement, [tenant_id])
        yield from cursor
