"""What is counted, in SQL: one statement for each question, all of one range.

Days are those of the installation's time zone. A request counts on the day that it was
asked; what is still open is no outcome. Durations are in seconds.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection

from kernel.clock import database_now

OUTCOMES: Final = ("approved", "rejected", "answered", "expired", "taken back")
HASTE: Final = 3  # seconds from the first view: nobody reads so fast


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Which requests: asked from `since` until `until`, on one queue or on all."""

    tenant_id: UUID
    since: datetime
    until: datetime
    queue: UUID | None = None

    @property
    def before(self) -> "Range":
        """The range of the same length that ends where this one begins."""
        length = self.until - self.since
        return Range(
            tenant_id=self.tenant_id,
            since=self.since - length,
            until=self.since,
            queue=self.queue,
        )

    @property
    def values(self) -> dict[str, Any]:
        return {
            "tenant": self.tenant_id,
            "since": self.since,
            "until": self.until,
            "queue": self.queue,
            "zone": settings.TIME_ZONE,
        }


class DayCount(NamedTuple):
    """How many requests of a day ended with an outcome."""

    day: date
    outcome: str
    total: int


class DayTimes(NamedTuple):
    """How long decisions took, of the requests that were asked on a day."""

    day: date
    median: float
    slow: float  # the 95th percentile


class Figures(NamedTuple):
    """The range in numbers; None where nothing was measured."""

    closed: int
    viewed: float | None
    median: float | None
    slow: float | None
    to_effect: float | None
    refused: int
    expired: int


class Load(NamedTuple):
    """What one person decided, and how many of it in haste."""

    member: UUID
    decisions: int
    approvals: int
    reading: float | None  # the median, of what they were shown
    hasty: int


class Count(NamedTuple):
    """How many go by a name."""

    name: str
    total: int


_REQUESTS: Final = "FROM approvals_request r"
_ASKED: Final = """
    WHERE r.tenant_id = %(tenant)s AND r.created_at >= %(since)s
      AND r.created_at < %(until)s
      AND (%(queue)s::uuid IS NULL OR r.queue_id = %(queue)s)
"""
_OUTCOME: Final = """
    CASE WHEN r.state IN ('approved', 'consumed') THEN 'approved'
         WHEN r.state = 'rejected' THEN 'rejected'
         WHEN r.state = 'answered' THEN 'answered'
         WHEN r.state IN ('expired', 'lapsed') THEN 'expired'
         ELSE 'taken back' END
"""
_CLOSED: Final = "r.state NOT IN ('pending', 'changes_requested')"
_DAY: Final = "(r.created_at AT TIME ZONE %(zone)s)::date"
_TOOK: Final = "extract(epoch FROM r.decided_at - r.created_at)"


def last_days(tenant_id: UUID, days: int, queue: UUID | None = None) -> Range:
    """The last `days` days, up to now."""
    now = database_now()
    return Range(
        tenant_id=tenant_id, since=now - timedelta(days=days), until=now, queue=queue
    )


def outcomes(asked: Range) -> list[DayCount]:
    """By day and outcome; days without any are not there."""
    return [
        DayCount(*row)
        for row in _rows(
            f"SELECT {_DAY}, {_OUTCOME}, count(*) {_REQUESTS} {_ASKED} AND {_CLOSED}"
            " GROUP BY 1, 2 ORDER BY 1, 2",
            asked,
        )
    ]


def times_to_decision(asked: Range) -> list[DayTimes]:
    return [
        DayTimes(*row)
        for row in _rows(
            f"SELECT {_DAY}, percentile_cont(0.5) WITHIN GROUP (ORDER BY {_TOOK}),"
            f" percentile_cont(0.95) WITHIN GROUP (ORDER BY {_TOOK})"
            f" {_REQUESTS} {_ASKED} AND r.decided_at IS NOT NULL GROUP BY 1 ORDER BY 1",
            asked,
        )
    ]


def figures(asked: Range) -> Figures:
    ((closed, expired, median, slow),) = _rows(
        f"SELECT count(*) FILTER (WHERE {_CLOSED}),"
        " count(*) FILTER (WHERE r.state IN ('expired', 'lapsed')),"
        f" percentile_cont(0.5) WITHIN GROUP (ORDER BY {_TOOK}),"
        f" percentile_cont(0.95) WITHIN GROUP (ORDER BY {_TOOK})"
        f" {_REQUESTS} {_ASKED}",
        asked,
    )
    ((viewed,),), ((to_effect,),) = _rows(_VIEWED, asked), _rows(_TO_EFFECT, asked)
    refused = sum(count for _, count in refusals(asked))
    return Figures(closed, viewed, median, slow, to_effect, refused, expired)


_VIEWED: Final = f"""
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM first - asked))
    FROM (SELECT r.created_at AS asked, min(s.created_at) AS first
          {_REQUESTS} JOIN approvals_sight s
            ON s.tenant_id = r.tenant_id AND s.request_id = r.id
          {_ASKED} GROUP BY r.id, r.created_at) AS shown
"""  # noqa: S608
_TO_EFFECT: Final = f"""
    SELECT percentile_cont(0.95) WITHIN GROUP
      (ORDER BY extract(epoch FROM f.ended_at - r.decided_at))
    {_REQUESTS} JOIN checkpoints_effect f
      ON f.tenant_id = r.tenant_id AND f.request = r.id
    {_ASKED} AND f.state = 'confirmed' AND r.decided_at IS NOT NULL
"""  # noqa: S608


def refusals(asked: Range) -> list[Count]:
    """Approved actions that a check stopped, by the check's code."""
    return [
        Count(*row)
        for row in _rows(
            "SELECT v.code, count(*) FROM approvals_verificationreport v"  # noqa: S608
            " JOIN approvals_request r ON r.tenant_id = v.tenant_id"
            " AND r.id = v.request_id"
            f" {_ASKED} AND NOT v.passed GROUP BY 1 ORDER BY 2 DESC, 1",
            asked,
        )
    ]


def tools(asked: Range) -> list[Count]:
    """What was asked for, most first."""
    return [
        Count(*row)
        for row in _rows(
            f"SELECT t.name, count(*) {_REQUESTS} JOIN checkpoints_tool t"
            " ON t.tenant_id = r.tenant_id AND t.id = r.tool_id"
            f" {_ASKED} GROUP BY 1 ORDER BY 2 DESC, 1",
            asked,
        )
    ]


def loads(asked: Range) -> list[Load]:
    """Who decided how much, most first. Who decided by the API was shown nothing."""
    return [Load(*row) for row in _rows(_LOADS, asked)]


_LOADS: Final = f"""
    SELECT d.member_id, count(*),
      count(*) FILTER (WHERE d.verdict IN ('approve', 'edit')),
      percentile_cont(0.5) WITHIN GROUP
        (ORDER BY extract(epoch FROM d.created_at - s.created_at)),
      count(*) FILTER (WHERE d.created_at - s.created_at < interval '{HASTE} seconds')
    FROM approvals_decision d
    JOIN approvals_request r ON r.tenant_id = d.tenant_id AND r.id = d.request_id
    LEFT JOIN approvals_sight s ON s.tenant_id = d.tenant_id
      AND s.revision_id = d.revision_id AND s.member_id = d.member_id
    {_ASKED} AND d.member_id IS NOT NULL
    GROUP BY 1 ORDER BY 2 DESC, 1
"""  # noqa: S608

AGES: Final = {
    "Under 15 min": 0,
    "15 to 60 min": 900,
    "1 to 4 hours": 3_600,
    "4 to 24 hours": 14_400,
    "Over a day": 86_400,
}
"""Each from so many seconds on."""
_AGES: Final = f"""
    SELECT width_bucket(extract(epoch FROM clock_timestamp() - r.created_at),
      ARRAY{list(AGES.values())}::numeric[]), count(*)
    {_REQUESTS} WHERE r.tenant_id = %(tenant)s
      AND r.state IN ('pending', 'changes_requested')
      AND (%(queue)s::uuid IS NULL OR r.queue_id = %(queue)s)
    GROUP BY 1
"""  # noqa: S608


def ages(asked: Range) -> list[Count]:
    """How long the requests wait that are open now, whenever they were asked."""
    found: dict[int, int] = dict(_rows(_AGES, asked))  # by the bucket, counted from 1
    return [Count(name, found.get(n, 0)) for n, name in enumerate(AGES, start=1)]


def _rows(statement: str, asked: Range) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, asked.values)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found
