"""That somebody looked at a case: noted with the page itself, in one statement."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.db import connection

from kernel.ids import new_id

# Nothing is written when the same person looked within the last minute.
_COLUMNS: Final = "id, tenant_id, request_id, revision_id, member_id"
_ONCE: Final = """
    ON CONFLICT (tenant_id, revision_id, member_id) DO UPDATE
      SET last_at = clock_timestamp()
      WHERE s.last_at < clock_timestamp() - interval '1 minute'
"""
_INTO: Final = f"INSERT INTO approvals_sight AS s ({_COLUMNS})"
_NOTE: Final = f"{_INTO} VALUES (%s, %s, %s, %s, %s) {_ONCE}"
_BY_NUMBER: Final = """
    SELECT %s, r.tenant_id, r.id, v.id, %s
    FROM approvals_request r
    JOIN approvals_revision v ON v.request_id = r.id AND v.number = %s
    WHERE r.id = %s
"""
_NOTE_BY_NUMBER: Final = f"{_INTO} {_BY_NUMBER} {_ONCE}"


def note_sight(
    *, tenant_id: UUID, member_id: UUID, request_id: UUID, revision_id: UUID
) -> None:
    """Note who was shown a revision, inside the scope in which it was read.

    No verb and no entry of the audit log: looking changes nothing, and a log of each
    look would drown what happened.
    """
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, [new_id(), tenant_id, request_id, revision_id, member_id])


def note_sight_of(request_id: UUID, revision: int, *, member_id: UUID) -> None:
    """The same, of the revision with this number."""
    with connection.cursor() as cursor:
        cursor.execute(_NOTE_BY_NUMBER, [new_id(), member_id, revision, request_id])


def note_sights(
    *, tenant_id: UUID, member_id: UUID, revisions: Mapping[UUID, UUID]
) -> None:
    """The same for several at once: revisions by the request that they are of."""
    rows = [
        (new_id(), tenant_id, request, revision, member_id)
        for request, revision in sorted(revisions.items())
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_NOTE, rows)
