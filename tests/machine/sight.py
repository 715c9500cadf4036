"""What the database holds of one tenant, read by the superuser past every policy."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import namedtuple_row

from kernel.ids import new_id
from tests.machine.moves import Move

type Row = Any
"""A named tuple of a table's columns."""

TABLES: Final = {
    "tenants": "SELECT * FROM tenants_tenant WHERE id = %(tenant)s",
    "members": """SELECT m.*, u.is_active AS user_active FROM tenants_member m
        JOIN tenants_user u ON u.id = m.user_id WHERE m.tenant_id = %(tenant)s""",
    "owners": "SELECT * FROM tenants_agentowner WHERE tenant_id = %(tenant)s",
    "agents": "SELECT * FROM tenants_agent WHERE tenant_id = %(tenant)s",
    "keys": "SELECT * FROM tenants_apikey WHERE tenant_id = %(tenant)s",
    "tools": "SELECT * FROM checkpoints_tool WHERE tenant_id = %(tenant)s",
    "policies": """SELECT p.name, r.* FROM approvals_policyrevision r
        JOIN approvals_policy p ON p.id = r.policy_id WHERE r.tenant_id = %(tenant)s""",
    "in_force": """SELECT p.id AS policy, p.current FROM approvals_policy p
        WHERE p.tenant_id = %(tenant)s AND p.current IS NOT NULL""",
    "runs": "SELECT * FROM agent_sessions_run WHERE tenant_id = %(tenant)s AND id > %(since)s",
    "facts": "SELECT * FROM agent_sessions_fact WHERE tenant_id = %(tenant)s AND id > %(since)s",
    "delegations": "SELECT * FROM approvals_delegation WHERE tenant_id = %(tenant)s",
    "pauses": "SELECT * FROM approvals_pause WHERE tenant_id = %(tenant)s AND id > %(since)s",
    "requests": "SELECT * FROM approvals_request WHERE tenant_id = %(tenant)s AND id > %(since)s",
    "revisions": "SELECT * FROM approvals_revision WHERE tenant_id = %(tenant)s AND id > %(since)s",
    "decisions": "SELECT * FROM approvals_decision WHERE tenant_id = %(tenant)s AND id > %(since)s",
    "standing": """SELECT * FROM approvals_standingapproval
        WHERE tenant_id = %(tenant)s AND id > %(since)s""",
    "grants": "SELECT * FROM approvals_grant WHERE tenant_id = %(tenant)s AND id > %(since)s",
    "jobs": "SELECT * FROM approvals_resumejob WHERE tenant_id = %(tenant)s AND id > %(since)s",
    "effects": "SELECT * FROM checkpoints_effect WHERE tenant_id = %(tenant)s AND id > %(since)s",
    "attempts": "SELECT * FROM checkpoints_attempt WHERE tenant_id = %(tenant)s AND id > %(since)s",
    # Of the reviewers' group and of single members; and what both come to.
    "grouped": """SELECT g.user_id FROM tenants_user_groups g
        JOIN tenants_group o ON o.django_group_id = g.group_id
        WHERE o.tenant_id = %(tenant)s""",
    "rights": """
        SELECT 'group' AS whose, NULL::uuid AS who, a.codename AS right
        FROM approvals_queuegrouppermission p
        JOIN auth_permission a ON a.id = p.permission_id WHERE p.tenant_id = %(tenant)s
        UNION SELECT 'user', p.user_id, a.codename
        FROM approvals_queueuserpermission p
        JOIN auth_permission a ON a.id = p.permission_id WHERE p.tenant_id = %(tenant)s""",
    "holders": """
        SELECT m.id AS member, p.content_object_id AS queue, a.codename AS right
        FROM tenants_member m
        JOIN approvals_queueuserpermission p ON p.user_id = m.user_id
        JOIN auth_permission a ON a.id = p.permission_id
        WHERE m.tenant_id = %(tenant)s AND p.tenant_id = %(tenant)s
        UNION SELECT m.id, p.content_object_id, a.codename
        FROM tenants_member m
        JOIN tenants_user_groups g ON g.user_id = m.user_id
        JOIN approvals_queuegrouppermission p ON p.group_id = g.group_id
        JOIN auth_permission a ON a.id = p.permission_id
        WHERE m.tenant_id = %(tenant)s AND p.tenant_id = %(tenant)s""",
}
SINCE: Final = {
    "entries": """SELECT * FROM audit_entry WHERE tenant_id = %(tenant)s
        AND seq > %(seq)s ORDER BY seq""",
    "heads": "SELECT * FROM audit_head WHERE tenant_id = %(tenant)s",
    "moves": """SELECT n, tenant, what, id, was, becomes FROM machine.move
        WHERE n > %(move)s ORDER BY n""",
    "clock": "SELECT clock_timestamp() AS now",
}
# What must not change of a bystander: a digest of every row of every table.
PRINT: Final = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'public' AND c.relkind = 'r' AND EXISTS (
   SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')
"""


@dataclass(kw_only=True)
class Sight:
    """All rows after one step, and what that step added to audit log and moves."""

    rows: dict[str, list[Row]]
    entries: list[Row]
    head: Row | None
    moves: list[Move]
    foreign_moves: list[Move]
    now: datetime

    def __getattr__(self, table: str) -> list[Row]:
        try:
            return self.__dict__["rows"][table]
        except KeyError:
            raise AttributeError(table) from None

    def by_id(self, table: str) -> dict[UUID, Row]:
        return {row.id: row for row in self.rows[table]}

    def of(self, table: str, column: str, value: object) -> list[Row]:
        return [row for row in self.rows[table] if getattr(row, column) == value]

    def current(self, request: Row) -> Row:
        """The revision that is asked now."""
        return self.revision(request.id, request.revision)

    def revision(self, request_id: UUID, number: int) -> Row:
        found = [
            one
            for one in self.revisions
            if (one.request_id, one.number) == (request_id, number)
        ]
        (one,) = found
        return one


class Eye:
    """Looks at one tenant again and again, remembering how far it has seen.

    Of what episodes make, only what is younger than this eye: ids rise with time.
    """

    def __init__(self, superuser: psycopg.Connection[Any], tenant_id: UUID) -> None:
        self.superuser = superuser
        self.tenant_id = tenant_id
        self.since = new_id()
        self.seq = self._last("max(seq) FROM audit_entry WHERE tenant_id = %s")
        self.move = self._last("max(n) FROM machine.move WHERE %s::uuid IS NOT NULL")

    def look(self) -> Sight:
        """Everything of one moment."""
        rows = self._read({**TABLES, **SINCE})
        entries = sorted(rows.pop("entries"), key=lambda entry: entry.seq)
        moves = sorted(rows.pop("moves"), key=lambda move: move.n)
        (clock,), heads = rows.pop("clock"), rows.pop("heads")
        self.seq = max((one.seq for one in entries), default=self.seq)
        self.move = max((one.n for one in moves), default=self.move)
        sides: dict[bool, list[Move]] = defaultdict(list)
        for one in moves:
            sides[one.tenant == self.tenant_id].append(Move(*one))
        return Sight(
            rows=rows,
            entries=entries,
            head=heads[0] if heads else None,
            moves=sides[True],
            foreign_moves=sides[False],
            now=clock.now,
        )

    def _last(self, column: str) -> int:
        row = self.superuser.execute(f"SELECT {column}", [self.tenant_id]).fetchone()
        return (row and row[0]) or 0

    def _read(self, statements: dict[str, str]) -> dict[str, list[Row]]:
        known = {
            "tenant": self.tenant_id,
            "since": self.since,
            "seq": self.seq,
            "move": self.move,
        }
        with self.superuser.transaction(), self.superuser.pipeline():
            cursors = {
                name: self.superuser.cursor(row_factory=namedtuple_row).execute(
                    statement, known
                )
                for name, statement in statements.items()
            }
        return {name: _in_order(cursor.fetchall()) for name, cursor in cursors.items()}


def _in_order(rows: list[Row]) -> list[Row]:
    """As they were made, where they have ids: these rise with time."""
    return (
        sorted(rows, key=lambda row: row.id)
        if rows and hasattr(rows[0], "id")
        else rows
    )


def fingerprint(superuser: psycopg.Connection[Any], tenant_id: UUID) -> dict[str, str]:
    """Of each table, a digest of the tenant's rows."""
    tables = [name for (name,) in superuser.execute(PRINT).fetchall()]
    return {table: _digest(superuser, table, tenant_id) for table in tables}


def _digest(superuser: psycopg.Connection[Any], table: str, tenant_id: UUID) -> str:
    statement = (
        f"SELECT coalesce(md5(string_agg(t::text, '' ORDER BY t::text)), '')"
        f" FROM {table} t WHERE tenant_id = %s"
    )
    row = superuser.execute(statement, [tenant_id]).fetchone()
    assert row is not None
    return str(row[0])


def find(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows that have all these values."""
    return [
        row
        for row in rows
        if all(getattr(row, name) == value for name, value in wanted.items())
    ]
