"""When somebody is told: at once or in a digest, and never in their quiet hours."""

from datetime import datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from approvals.models.notice import NoticeSettings, Pace

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)


def due_at(
    wish: NoticeSettings, kind: str, now: datetime, decide_by: datetime | None = None
) -> datetime | None:
    """When a letter of this kind leaves; None where the person wants none.

    An hourly digest never waits longer than half of the time that is left to decide.
    """
    match Pace(getattr(wish, kind)):
        case Pace.NEVER:
            return None
        case Pace.AT_ONCE:
            at = now
        case Pace.HOURLY:
            at = now.replace(minute=0, second=0, microsecond=0) + HOUR
            if decide_by is not None and decide_by > now:
                at = min(at, now + (decide_by - now) / 2)
        case Pace.DAILY:
            at = _next(wish.daily_at, _local(wish, now), now)
    return _after_quiet(wish, at)


def _after_quiet(wish: NoticeSettings, at: datetime) -> datetime:
    """The end of the quiet hours that this moment is in, or the moment itself."""
    begins, ends = wish.quiet_from, wish.quiet_until
    if begins is None or ends is None or begins == ends:
        return at
    local = _local(wish, at)
    clock = local.time()
    over_midnight = begins > ends
    inside = (
        (clock >= begins or clock < ends) if over_midnight else begins <= clock < ends
    )
    return _next(ends, local, at) if inside else at


def _next(clock: time, local: datetime, after: datetime) -> datetime:
    """The first moment after `after` at which that clock shows this."""
    for days in (0, 1):
        day = local.date() + timedelta(days=days)
        at = datetime.combine(day, clock, tzinfo=local.tzinfo)
        if at.timestamp() > after.timestamp():
            return at
    return after + DAY


def _local(wish: NoticeSettings, at: datetime) -> datetime:
    return at.astimezone(ZoneInfo(wish.zone))
