"""What happened in a range of days, added up from what was counted.

Days are those of the installation's time zone, whole, and the last is today. A request
counts on the day that it was asked; what is still open is no outcome. Durations are in
seconds.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection

from checkpoints.models import Tool
from kernel.clock import database_now
from oversight.tallies import (
    COUNTS,
    DAY,
    KEPT,
    days_from,
    days_kept,
    seconds_at,
    spans,
    today,
    zone,
)
from tenants.models import Agent

OUTCOMES: Final = ("approved", "rejected", "answered", "expired", "taken back")


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Which requests: asked from `first` to `last`, on one queue or on all."""

    tenant_id: UUID
    now: datetime
    first: date
    last: date
    queue: UUID | None = None

    @property
    def days(self) -> list[date]:
        return days_from(self.first, self.last)

    @property
    def before(self) -> "Range":
        """The range of the same length that ends where this one begins."""
        length = self.last - self.first + DAY
        return Range(
            tenant_id=self.tenant_id,
            now=self.now,
            first=self.first - length,
            last=self.first - DAY,
            queue=self.queue,
        )


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
    to_effect_slow: float | None
    refused: int
    expired: int
    asked: int
    reopened: int
    edited: int
    glass: int


class Load(NamedTuple):
    """What one person decided, and how many of it in haste."""

    member: UUID
    decisions: int
    approvals: int
    reading: float | None  # the median, of what they were shown
    hasty: int
    busiest: int  # the most approvals in one hour, on one queue


class Count(NamedTuple):
    """How many go by a name."""

    name: str
    total: int


type Histogram = dict[int, int]


def _totals() -> defaultdict[str, dict[str, int]]:
    return defaultdict(lambda: defaultdict(int))


@dataclass(slots=True)
class Sums:
    """By measure and key: of all days, and of each."""

    total: defaultdict[str, dict[str, int]] = field(default_factory=_totals)
    by_day: defaultdict[tuple[str, date], dict[str, int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )

    def add(self, day: date | None, measure: str, key: str, count: int) -> None:
        self.total[measure][key] += count
        if day is not None:
            self.by_day[measure, day][key] += count

    def histogram(self, measure: str, day: date | None = None) -> Histogram:
        found = self.by_day[measure, day] if day else self.total[measure]
        return {int(bucket): count for bucket, count in found.items()}


def last_days(tenant_id: UUID, days: int, queue: UUID | None = None) -> Range:
    """The last `days` days, with today."""
    now = database_now()
    last = today(now)
    first = last - (days - 1) * DAY
    return Range(tenant_id=tenant_id, now=now, first=first, last=last, queue=queue)


# The charts of a day need outcomes and decisions by day; of the rest the sum will do.
_SUMS: Final = f"""
  SELECT CASE WHEN measure IN ('outcome', 'decision') THEN day END, measure, key,
         sum(total)::bigint
    FROM ({KEPT} UNION ALL ({COUNTS})) found(day, queue, measure, key, total)
   WHERE %(queue)s::uuid IS NULL OR queue = %(queue)s
   GROUP BY 1, 2, 3
"""  # noqa: S608 - our own constants


def sums(asked: Range) -> Sums:
    """What was kept of settled days, and the others counted now. Inside the scope."""
    found = Sums()
    kept = days_kept(asked.tenant_id, asked.first, asked.last)
    given = {
        "tenant": asked.tenant_id,
        "zone": zone(),
        "first": asked.first,
        "last": asked.last,
        "queue": asked.queue,
        **spans(day for day in asked.days if day not in kept),
    }
    for row in _rows(_SUMS, given):
        found.add(*row)
    return found


def outcomes(found: Sums) -> dict[tuple[date, str], int]:
    """By day and outcome; days without any are not there."""
    return {
        (day, outcome): count
        for (measure, day), counts in found.by_day.items()
        if measure == "outcome"
        for outcome, count in counts.items()
    }


def times_to_decision(found: Sums) -> list[DayTimes]:
    return list(_times(found))


def _times(found: Sums) -> Iterator[DayTimes]:
    for measure, day in sorted(found.by_day):
        times = found.histogram(measure, day) if measure == "decision" else {}
        median, slow = seconds_at(times, 0.5), seconds_at(times, 0.95)
        if median is not None and slow is not None:
            yield DayTimes(day, median, slow)


def figures(found: Sums) -> Figures:
    decided = found.histogram("decision")
    return Figures(
        closed=sum(found.total["outcome"].values()),
        viewed=seconds_at(found.histogram("view"), 0.5),
        median=seconds_at(decided, 0.5),
        slow=seconds_at(decided, 0.95),
        to_effect=seconds_at(found.histogram("effect"), 0.5),
        to_effect_slow=seconds_at(found.histogram("effect"), 0.95),
        refused=sum(found.total["refusal"].values()),
        expired=found.total["outcome"].get("expired", 0),
        asked=sum(found.total["tool"].values()),
        reopened=sum(found.total["reopened"].values()),
        edited=found.total["override"].get("edited", 0),
        glass=found.total["override"].get("glass", 0),
    )


def refusals(found: Sums) -> list[Count]:
    """Approved actions that a check stopped, by the check's code, most first."""
    return _most_first(found.total["refusal"])


def tools(found: Sums, *, most: int) -> list[Count]:
    """What was asked for, most first. Inside the scope."""
    return _named(Tool, _most_first(found.total["tool"])[:most])


def agents(found: Sums, *, most: int) -> list[Count]:
    """Who asked, most first. Inside the scope."""
    return _named(Agent, _most_first(found.total["agent"])[:most])


def _named(model: type[Tool | Agent], counted: list[Count]) -> list[Count]:
    rows = model._default_manager.filter(id__in=[key for key, _ in counted])
    names = {str(id): name for id, name in rows.values_list("id", "name")}
    return [Count(names.get(key, key), total) for key, total in counted]


def loads(found: Sums) -> list[Load]:
    """Who decided how much, most first. Who decided by the API was shown nothing."""
    read: defaultdict[str, Histogram] = defaultdict(dict)
    for key, count in found.total["read"].items():
        member, _, bucket = key.partition(":")
        read[member][int(bucket)] = count
    busiest: defaultdict[str, int] = defaultdict(int)
    for key in found.total["hour"]:
        member, _, approvals = key.partition(":")
        busiest[member] = max(busiest[member], int(approvals))
    approved, hasty = found.total["approved"], found.total["hasty"]
    return [
        Load(
            member=UUID(member),
            decisions=count,
            approvals=approved.get(member, 0),
            reading=seconds_at(read[member], 0.5),
            hasty=hasty.get(member, 0),
            busiest=busiest[member],
        )
        for member, count in _most_first(found.total["decided"])
    ]


def _most_first(counts: dict[str, int]) -> list[Count]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [Count(*one) for one in ordered]


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
    FROM approvals_request r WHERE r.tenant_id = %(tenant)s
      AND r.state IN ('pending', 'changes_requested')
      AND (%(queue)s::uuid IS NULL OR r.queue_id = %(queue)s)
    GROUP BY 1
"""  # noqa: S608 - our own constants


def ages(asked: Range) -> list[Count]:
    """How long the requests wait that are open now, whenever they were asked."""
    given = {"tenant": asked.tenant_id, "queue": asked.queue}
    found: dict[int, int] = dict(_rows(_AGES, given))  # by the bucket, counted from 1
    return [Count(name, found.get(n, 0)) for n, name in enumerate(AGES, start=1)]


def _rows(statement: str, given: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found
