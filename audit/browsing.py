"""Looking for entries: which ones, newest first, whatever the length of the chain.

What is found is the queryable copy. It proves nothing by itself: `audit.verify` holds
it against the signed bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import FETCH_RAISE, QuerySet

from audit.models import Entry
from audit.queries import ROWS_A_FETCH

# A clock that was set back puts a later time before an earlier one; the bound in `seq`
# is there for speed alone, and leaves this much room.
CLOCK_SLACK: Final = timedelta(minutes=10)

# Skips from one kind to the next in the index, instead of reading every entry.
_KINDS: Final = """
    WITH RECURSIVE known AS (
      (SELECT kind FROM audit_entry WHERE tenant_id = %(tenant)s ORDER BY kind LIMIT 1)
      UNION ALL
      SELECT (SELECT e.kind FROM audit_entry e
              WHERE e.tenant_id = %(tenant)s AND e.kind > known.kind
              ORDER BY e.kind LIMIT 1)
      FROM known WHERE known.kind IS NOT NULL
    )
    SELECT kind FROM known WHERE kind IS NOT NULL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which entries: empty members ask for nothing. `before` is a `seq`, excluded."""

    kind: str = ""
    actor: str = ""
    subject: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None


def entries(tenant_id: UUID, wanted: Wanted) -> QuerySet[Entry]:
    """Those of the tenant, newest first; without the signed bytes."""
    rows = Entry.objects.filter(tenant_id=tenant_id)
    if wanted.kind:
        rows = rows.filter(kind=wanted.kind)
    if wanted.actor:
        rows = rows.filter(actor_id=wanted.actor)
    if wanted.subject:
        rows = rows.filter(subject_id=wanted.subject)
    if wanted.before is not None:
        rows = rows.filter(seq__lt=wanted.before)
    newest = _within(rows, tenant_id, wanted).order_by("-seq")
    return newest.defer("body", "prev", "signature").fetch_mode(FETCH_RAISE)


def each_entry(tenant_id: UUID, wanted: Wanted) -> Iterator[Entry]:
    """The same, through a server-side cursor; inside `chain_snapshot`."""
    return entries(tenant_id, wanted).iterator(chunk_size=ROWS_A_FETCH)


def known_kinds(tenant_id: UUID) -> list[str]:
    """Every kind of entry that the tenant's log has, by name."""
    with connection.cursor() as cursor:
        cursor.execute(_KINDS, {"tenant": tenant_id})
        return [kind for (kind,) in cursor.fetchall()]


def _within(rows: QuerySet[Entry], tenant_id: UUID, wanted: Wanted) -> QuerySet[Entry]:
    """Bounded in time, and in `seq` by the index of times: see `CLOCK_SLACK`."""
    mine = Entry.objects.filter(tenant_id=tenant_id)
    if wanted.since:
        early = mine.filter(at__gte=wanted.since - CLOCK_SLACK).order_by("at")
        first = early.values_list("seq", flat=True).first()
        rows = rows.filter(at__gte=wanted.since, seq__gte=first or 0)
    if wanted.until:
        late = mine.filter(at__lt=wanted.until + CLOCK_SLACK).order_by("-at")
        last = late.values_list("seq", flat=True).first()
        rows = rows.filter(at__lt=wanted.until, seq__lte=last or 0)
    return rows
