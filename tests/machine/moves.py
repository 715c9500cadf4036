"""Every change of a status, in order, as a trigger saw it; and DESIGN's tables.

The trigger is of the superuser and in a schema of its own. The tables are written here
once more and independently, from the document.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from uuid import UUID

import psycopg

WATCHED: Final = {
    "agent_sessions_run": "run",
    "approvals_request": "request",
    "approvals_grant": "grant",
    "approvals_resumejob": "job",
    "checkpoints_effect": "effect",
}


def _table(text: str) -> Mapping[str, frozenset[str]]:
    lines = (line.split(":") for line in text.strip().splitlines())
    return {was.strip(): frozenset(to.split()) for was, to in lines}


TABLES: Final = {
    "run": _table("""
        -: running
        running: paused completed failed cancelled needs_attention
        paused: resuming running cancelled failed
        resuming: running paused needs_attention failed cancelled
        needs_attention: resuming completed failed cancelled
    """),
    "request": _table("""
        -: pending
        pending: pending changes_requested approved rejected answered expired cancelled
        changes_requested: pending rejected answered expired cancelled
        approved: consumed revoked lapsed cancelled pending
    """),
    "grant": _table("""
        -: live
        live: consumed revoked lapsed
    """),
    "job": _table("""
        -: queued
        queued: claimed done
        claimed: claimed done retry dead
        retry: claimed done
    """),
    # A further attempt starts the effect again, under the same key.
    "effect": _table("""
        -: started
        started: confirmed failed unknown absent
        unknown: confirmed failed absent needs_attention started
        absent: started
        needs_attention: confirmed failed absent
    """),
}


class Move(NamedTuple):
    """One change of one row's status."""

    n: int
    tenant: UUID
    what: str
    row: UUID
    was: str
    to: str


WATCH: Final = """
CREATE SCHEMA machine;
CREATE TABLE machine.move (n bigserial PRIMARY KEY, tenant uuid, what text, id uuid,
                           was text, becomes text);
CREATE FUNCTION machine.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO machine.move (tenant, what, id, was, becomes) VALUES
    (NEW.tenant_id, TG_ARGV[0], NEW.id,
     CASE TG_OP WHEN 'INSERT' THEN '-' ELSE OLD.state END, NEW.state);
  RETURN NULL;
END $$;
""" + "".join(
    f"CREATE TRIGGER machine AFTER INSERT OR UPDATE OF state ON {table}"
    f" FOR EACH ROW EXECUTE FUNCTION machine.note('{what}');"
    for table, what in WATCHED.items()
)


@contextmanager
def watched(superuser: psycopg.Connection[Any]) -> Iterator[None]:
    """Note every change of a status for as long as the block lasts."""
    superuser.execute("DROP SCHEMA IF EXISTS machine CASCADE")
    superuser.execute(WATCH)
    try:
        yield
    finally:
        superuser.execute("DROP SCHEMA machine CASCADE")


def illegal(moves: list[Move]) -> list[str]:
    """What moved along no line of its table."""
    return [
        f"{one.what} {one.was} → {one.to} is in no table"
        for one in moves
        if one.to not in TABLES[one.what].get(one.was, frozenset())
    ]
