"""Counting what became of requests, by day and queue: one statement for all of it.

A day that is over and settled is counted once and kept; the others are counted when
they are looked at, by the same statement. Durations are kept as histograms: bucket k
ends at 0.1 s x 1.05^k, so that what is read from them is off by 2.5 % at most.
"""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from math import ceil
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

BUCKET: Final = 1.05
SHORTEST: Final = 0.1  # seconds: the end of bucket 0
HASTE: Final = 3  # seconds from the first view: nobody reads so fast
DAY: Final = timedelta(days=1)
_BUCKET_OF: Final = (
    f"CASE WHEN {{0}} < {SHORTEST} THEN 0"
    f" ELSE 1 + floor(ln({{0}} / {SHORTEST}) / ln({BUCKET})) END::int::text"
)


def _seconds(later: str, earlier: str) -> str:
    return f"extract(epoch FROM {later} - {earlier})::float8"


def _bucket(later: str, earlier: str) -> str:
    return _BUCKET_OF.format(_seconds(later, earlier))


# Of each day and queue: (day, queue, measure, key, total).
#   outcome   how many ended so; what is still open is none
#   decision  bucket of the time from being asked to being decided
#   view      bucket of the time to the first view, of what was seen before it ended
#   effect    bucket of the time from the decision to the confirmed effect
#   tool      how many asked for it, by its id
#   agent     how many it asked, by its id
#   reopened  how many a check gave back to people
#   override  decisions that changed the action (`edited`) or broke the glass (`glass`)
#   refusal   approved actions that a check stopped, by its code
#   decided, approved, hasty   what a member decided, by its id
#   hour      "member:N" where N is the most that a member approved of it in one hour
#   read      "member:bucket" of the time from a member's first view to the decision
COUNTS: Final = f"""
  WITH span AS (
    SELECT * FROM unnest(%(days)s::date[], %(starts)s::timestamptz[],
                         %(ends)s::timestamptz[]) AS d(day, since, until)
  ), asked AS MATERIALIZED (
    SELECT d.day, r.tenant_id, r.id, r.queue_id, r.tool_id, r.agent_id, r.state,
           r.created_at, r.decided_at
    FROM span d CROSS JOIN LATERAL (
      SELECT * FROM approvals_request WHERE tenant_id = %(tenant)s
        AND created_at >= d.since AND created_at < d.until
      OFFSET 0) r  -- one range of the index a day, however many there are
  ), judged AS MATERIALIZED (
    SELECT a.day, a.queue_id, d.member_id, d.verdict, d.broke_glass,
           d.created_at AS at, s.created_at AS seen
    FROM asked a JOIN approvals_decision d
      ON d.tenant_id = a.tenant_id AND d.request_id = a.id
    LEFT JOIN approvals_sight s ON s.tenant_id = d.tenant_id
      AND s.revision_id = d.revision_id AND s.member_id = d.member_id
      AND s.created_at <= d.created_at
    WHERE d.member_id IS NOT NULL AND d.standing_id IS NULL
      AND d.taken_back_by_id IS NULL
  )
  SELECT day, queue_id, 'outcome', CASE
      WHEN state IN ('approved', 'consumed') THEN 'approved'
      WHEN state IN ('rejected', 'answered') THEN state
      WHEN state IN ('expired', 'lapsed') THEN 'expired'
      ELSE 'taken back' END, count(*)
    FROM asked WHERE state NOT IN ('pending', 'changes_requested') GROUP BY 1, 2, 4
  UNION ALL
  SELECT day, queue_id, 'decision', {_bucket("decided_at", "created_at")}, count(*)
    FROM asked WHERE decided_at IS NOT NULL GROUP BY 1, 2, 4
  UNION ALL
  SELECT day, queue_id, 'view', {_bucket("first", "created_at")}, count(*)
    FROM (SELECT a.day, a.queue_id, a.created_at, min(s.created_at) AS first
          FROM asked a JOIN approvals_sight s
            ON s.tenant_id = a.tenant_id AND s.request_id = a.id
           AND s.created_at <= coalesce(a.decided_at, 'infinity')
          GROUP BY a.id, a.day, a.queue_id, a.created_at) shown
    GROUP BY 1, 2, 4
  UNION ALL
  SELECT day, queue_id, 'effect', {_bucket("f.ended_at", "decided_at")}, count(*)
    FROM asked a JOIN checkpoints_effect f
      ON f.tenant_id = a.tenant_id AND f.request = a.id
    WHERE f.state = 'confirmed' AND decided_at IS NOT NULL GROUP BY 1, 2, 4
  UNION ALL
  SELECT day, queue_id, 'tool', tool_id::text, count(*) FROM asked GROUP BY 1, 2, 4
  UNION ALL
  SELECT day, queue_id, 'agent', agent_id::text, count(*) FROM asked GROUP BY 1, 2, 4
  UNION ALL
  SELECT day, queue_id, 'reopened', '', count(DISTINCT a.id)
    FROM asked a JOIN approvals_verificationreport v
      ON v.tenant_id = a.tenant_id AND v.request_id = a.id
    WHERE v.refusal = 'reopen' GROUP BY 1, 2
  UNION ALL
  SELECT day, queue_id, 'override',
         CASE WHEN broke_glass THEN 'glass' ELSE 'edited' END, count(*)
    FROM judged WHERE broke_glass OR verdict = 'edit' GROUP BY 1, 2, 4
  UNION ALL
  SELECT day, queue_id, 'hour', member_id || ':' || max(approved), 1
    FROM (SELECT day, queue_id, member_id, count(*) AS approved FROM judged
          WHERE verdict IN ('approve', 'edit')
          GROUP BY 1, 2, 3, date_trunc('hour', at)) hourly
    GROUP BY day, queue_id, member_id
  UNION ALL
  SELECT day, queue_id, 'refusal', v.code, count(*)
    FROM asked a JOIN approvals_verificationreport v
      ON v.tenant_id = a.tenant_id AND v.request_id = a.id
    WHERE NOT v.passed GROUP BY 1, 2, 4
  UNION ALL
  SELECT day, queue_id, 'decided', member_id::text, count(*) FROM judged
    GROUP BY 1, 2, 4
  UNION ALL
  SELECT day, queue_id, 'approved', member_id::text, count(*) FROM judged
    WHERE verdict IN ('approve', 'edit') GROUP BY 1, 2, 4
  UNION ALL
  SELECT day, queue_id, 'hasty', member_id::text, count(*) FROM judged
    WHERE at - seen < interval '{HASTE} seconds' GROUP BY 1, 2, 4
  UNION ALL
  SELECT day, queue_id, 'read', member_id || ':' || {_bucket("at", "seen")}, count(*)
    FROM judged WHERE seen IS NOT NULL GROUP BY 1, 2, 4
"""  # noqa: S608 - our own constants

KEPT: Final = """
  SELECT day, queue_id, measure, key, total FROM oversight_tally
   WHERE tenant_id = %(tenant)s AND zone = %(zone)s
     AND day BETWEEN %(first)s AND %(last)s
"""


def zone() -> str:
    """The time zone whose days are counted: the installation's."""
    return settings.TIME_ZONE


def today(now: datetime) -> date:
    return timezone.localtime(now).date()


def days_from(first: date, last: date) -> list[date]:
    """Each day, both ends included."""
    return [first + n * DAY for n in range((last - first).days + 1)]


def spans(days: Iterable[date]) -> dict[str, list[Any]]:
    """`COUNTS`'s parameters for these days: from each one's midnight to the next."""
    listed = list(days)
    return {
        "days": listed,
        "starts": [_midnight(day) for day in listed],
        "ends": [_midnight(day + DAY) for day in listed],
    }


def days_kept(tenant_id: UUID, first: date, last: date) -> set[date]:
    """Those that were counted for good. Inside the tenant's scope."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT DISTINCT day FROM ({KEPT}) kept",  # noqa: S608 - our own constant
            {"tenant": tenant_id, "zone": zone(), "first": first, "last": last},
        )
        return {day for (day,) in cursor.fetchall()}


def seconds_at(buckets: dict[int, int], part: float) -> float | None:
    """The percentile `part` (0 to 1) of a histogram, in seconds; None if it is empty."""
    wanted = ceil(part * sum(buckets.values()))
    passed = 0
    for bucket, count in sorted(buckets.items()):
        passed += count
        if passed >= max(wanted, 1):
            return _middle(bucket)
    return None


def _middle(bucket: int) -> float:
    end = SHORTEST * BUCKET**bucket
    return end / 2 if bucket == 0 else end / BUCKET**0.5


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
