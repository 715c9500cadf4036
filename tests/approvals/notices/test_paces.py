"""When a letter leaves: at once, in a digest, never in quiet hours."""

from datetime import UTC, datetime, time, timedelta

import pytest

from approvals.models import NoticeSettings
from approvals.models.notice import Pace
from approvals.paces import due_at

NOW = datetime(2026, 7, 15, 12, 20, tzinfo=UTC)  # 14:20 in Berlin


def due(pace: Pace, at: datetime = NOW, **wish: object) -> datetime | None:
    return due_at(
        NoticeSettings(waiting=pace, zone="Europe/Berlin", **wish), "waiting", at
    )


def berlin(hour: int, minute: int = 0, day: int = 15) -> datetime:
    return datetime(2026, 7, day, hour - 2, minute, tzinfo=UTC)


def test_at_once_and_not_at_all() -> None:
    assert due(Pace.AT_ONCE) == NOW
    assert due(Pace.NEVER) is None


def test_hourly_is_the_next_full_hour_but_leaves_half_of_the_time() -> None:
    assert due(Pace.HOURLY) == datetime(2026, 7, 15, 13, tzinfo=UTC)
    wish = NoticeSettings(waiting=Pace.HOURLY)
    soon = NOW + timedelta(minutes=30)
    assert due_at(wish, "waiting", NOW, soon) == NOW + timedelta(minutes=15)


@pytest.mark.parametrize(("clock", "day"), [(time(18), 15), (time(8), 16)])
def test_daily_is_the_next_such_time_where_they_live(clock: time, day: int) -> None:
    assert due(Pace.DAILY, daily_at=clock) == berlin(clock.hour, day=day)


@pytest.mark.parametrize(
    ("hour", "day", "leaves"),
    [
        (21, 15, berlin(21)),  # before
        (22, 15, berlin(7, day=16)),  # as they begin
        (23, 15, berlin(7, day=16)),
        (6, 15, berlin(7)),  # after midnight
        (7, 15, berlin(7)),  # as they end
    ],
)
def test_nothing_leaves_in_quiet_hours(hour: int, day: int, leaves: datetime) -> None:
    quiet = {"quiet_from": time(22), "quiet_until": time(7)}
    assert due(Pace.AT_ONCE, berlin(hour, day=day), **quiet) == leaves


def test_quiet_hours_within_a_day() -> None:
    quiet = {"quiet_from": time(14), "quiet_until": time(15)}
    assert due(Pace.AT_ONCE, **quiet) == berlin(15)


def test_a_clock_that_is_put_back_does_not_lose_a_letter() -> None:
    """Berlin's 25 October has 02:30 twice."""
    at = datetime(2026, 10, 25, 0, 45, tzinfo=UTC)
    quiet = {"quiet_from": time(0), "quiet_until": time(6)}
    assert due(Pace.AT_ONCE, at, **quiet) == datetime(2026, 10, 25, 5, tzinfo=UTC)
