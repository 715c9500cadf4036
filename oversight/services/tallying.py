"""Counting the days that are over, once: what the insights then add up.

Nothing is decided by it, so it is no verb and leaves no entry. A day is settled when none
of its requests can change any more; what nevertheless does later (an effect that is found
out after all) is not counted anew.
"""

from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import DatabaseError, connection

from audit.queries import tenants_with_chain
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from oversight.tallies import COUNTS, days_from, days_kept, spans, today, zone

REACH: Final = timedelta(days=180)  # twice the longest range that is looked at
REST: Final = timedelta(days=2)  # until late outcomes have come in
MOST_DAYS: Final = 20  # of a tenant in one pass

log = structlog.get_logger(__name__)

_ASKED_ON: Final = """
  SELECT day FROM unnest(%(days)s::date[], %(starts)s::timestamptz[],
                         %(ends)s::timestamptz[]) AS d(day, since, until)
   WHERE EXISTS (
    SELECT FROM approvals_request r WHERE r.tenant_id = %(tenant)s
       AND r.created_at >= since AND r.created_at < until)
   ORDER BY day DESC
"""
_UNSETTLED: Final = """
  SELECT EXISTS (
    SELECT FROM approvals_request r
      LEFT JOIN checkpoints_effect f
        ON f.tenant_id = r.tenant_id AND f.request = r.id
     WHERE r.tenant_id = %(tenant)s
       AND r.created_at >= %(since)s AND r.created_at < %(until)s
       AND (r.state IN ('pending', 'changes_requested', 'approved')
         OR f.state NOT IN ('confirmed', 'failed', 'absent')))
"""
_KEEP: Final = f"""
  INSERT INTO oversight_tally
    (id, tenant_id, day, zone, queue_id, measure, key, total)
  SELECT gen_random_uuid(), %(tenant)s, c.day, %(zone)s, c.queue, c.measure, c.key,
         c.total
    FROM ({COUNTS}) c(day, queue, measure, key, total)
  ON CONFLICT DO NOTHING
"""  # noqa: S608 - our own constants


def tally_all() -> int:
    """One bounded pass over every tenant; how many days were counted."""
    total = 0
    for tenant_id in tenants_with_chain():
        try:
            total += tally_tenant(tenant_id)
        except DatabaseError as error:
            log.warning("tally_deferred", tenant=str(tenant_id), error=str(error))
    return total


def tally_tenant(tenant_id: UUID, *, most: int = MOST_DAYS) -> int:
    """Count up to `most` settled days that were not yet, newest first; how many.

    Each is a transaction: two passes at once count a day twice and keep it once.
    """
    done = 0
    for day in _asked_on(tenant_id):
        done += _keep(tenant_id, day)
        if done == most:
            break
    return done


def _asked_on(tenant_id: UUID) -> list[date]:
    """Days with requests that were not counted yet, newest first."""
    last = today(database_now() - REST)
    first = last - REACH
    with tenant_transaction(tenant_id), connection.cursor() as cursor:
        kept = days_kept(tenant_id, first, last)
        left = [day for day in days_from(first, last) if day not in kept]
        cursor.execute(_ASKED_ON, _given(tenant_id, left))
        return [day for (day,) in cursor.fetchall()]


def _keep(tenant_id: UUID, day: date) -> bool:
    """Whether it was settled, and so is counted now."""
    given = _given(tenant_id, [day])
    ends = {"since": given["starts"][0], "until": given["ends"][0]}
    with tenant_transaction(tenant_id), connection.cursor() as cursor:
        cursor.execute(_UNSETTLED, {"tenant": tenant_id, **ends})
        (is_unsettled,) = cursor.fetchone()
        if not is_unsettled:
            cursor.execute(_KEEP, given | {"zone": zone()})
        return not is_unsettled


def _given(tenant_id: UUID, days: list[date]) -> dict[str, Any]:
    return {"tenant": tenant_id, **spans(days)}
