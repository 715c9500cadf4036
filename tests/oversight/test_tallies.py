"""Days that are over are counted once, and say the same as if they were counted now."""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from math import ceil, floor, log
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.models import Decision, Request
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from oversight.models import Tally
from oversight.pages.insights.measure import Range, Sums, last_days, sums
from oversight.services import tallying
from oversight.services.tallying import tally_tenant
from oversight.tallies import (
    BUCKET,
    DAY,
    SHORTEST,
    days_from,
    days_kept,
    seconds_at,
    spans,
    today,
)
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.views.browsing import reader
from tests.oversight.test_insights import shown

V = Decision.Verdict


@dataclass(frozen=True, kw_only=True)
class Past(Stage):
    """On `settled` one was rejected; on the day before one, and another still waits."""

    settled: date

    @property
    def unsettled(self) -> date:
        return self.settled - DAY


@pytest.fixture
def stage() -> Past:
    made = fresh_stage()
    noon = database_now().replace(hour=12) - timedelta(days=4)
    for at, ends in ((noon, True), (noon - DAY, True), (noon - DAY, False)):
        request = made.ask()
        if ends:
            reader(made).decide(request.id, "reject", reason="No.")
        ask_at(request, at)
    return Past(house=made.house, queue=made.queue, tool=made.tool, settled=today(noon))


def ask_at(request: Request, at: datetime) -> None:
    """As if it had been asked then, and decided five minutes later if it was."""
    with superuser() as root:
        root.execute(
            "UPDATE approvals_request SET created_at = %s,"
            " decided_at = CASE WHEN decided_at IS NOT NULL"
            " THEN %s + interval '5 minutes' END WHERE id = %s",
            [at, at, request.id],
        )


def counted(stage: Stage) -> Sums:
    with tenant_transaction(stage.tenant_id):
        return sums(last_days(stage.tenant_id, 14))


def kept(stage: Stage) -> list[tuple[Any, ...]]:
    columns = ("day", "queue", "measure", "key", "total")
    with tenant_transaction(stage.tenant_id):
        return sorted(Tally.objects.values_list(*columns), key=str)


def test_what_is_kept_says_the_same(stage: Past) -> None:
    before, page = counted(stage), shown(stage)
    assert before.total["outcome"] == {"rejected": 2}
    tally_tenant(stage.tenant_id)
    assert days_kept_of(stage) == {stage.settled}
    assert counted(stage) == before
    after = shown(stage)
    if today(after.now) == today(page.now):  # else the page begins a day later
        assert replace(after, now=page.now, ages=page.ages) == page


def days_kept_of(stage: Past) -> set[date]:
    with tenant_transaction(stage.tenant_id):
        around = (stage.settled - 9 * DAY, stage.settled + 9 * DAY)
        return days_kept(stage.tenant_id, *around)


def test_a_day_that_was_kept_is_not_counted_again(stage: Past) -> None:
    tally_tenant(stage.tenant_id)
    with superuser() as root:
        root.execute(
            "UPDATE approvals_request SET state = 'expired'"
            " WHERE tenant_id = %s AND state = 'rejected'",
            [stage.tenant_id],
        )
    # The other day is not settled, so it is counted as it is now.
    assert counted(stage).total["outcome"] == {"rejected": 1, "expired": 1}


def test_a_day_is_kept_once_it_is_settled_and_only_once(stage: Past) -> None:
    tally_tenant(stage.tenant_id)
    first = kept(stage)
    assert tally_tenant(stage.tenant_id) == 0
    assert kept(stage) == first
    with superuser() as root:
        root.execute(
            "UPDATE approvals_request SET state = 'expired', due_at = NULL"
            " WHERE tenant_id = %s AND state = 'pending'",
            [stage.tenant_id],
        )
    tally_tenant(stage.tenant_id)  # or the worker did it meanwhile
    assert days_kept_of(stage) == {stage.settled, stage.unsettled}
    assert counted(stage).total["outcome"] == {"rejected": 2, "expired": 1}


def test_two_at_once_keep_it_once(stage: Stage, monkeypatch: Any) -> None:
    tally_tenant(stage.tenant_id)
    first = kept(stage)
    with tenant_transaction(stage.tenant_id):
        day = Tally.objects.values_list("day", flat=True)[0]
    monkeypatch.setattr(tallying, "_asked_on", lambda _: [day])
    tally_tenant(stage.tenant_id)
    assert kept(stage) == first


def test_nobody_elses_are_read_or_kept(stage: Stage) -> None:
    other = fresh_stage()
    tally_tenant(stage.tenant_id)
    assert kept(other) == []
    assert counted(other) == Sums()


def test_yesterday_rests_until_late_outcomes_have_come_in() -> None:
    stage = fresh_stage()
    request = stage.ask()
    stage.answer(request, verdict=V.REJECT, reason="No.")
    now = database_now()
    ask_at(request, now - DAY)
    found = tally_tenant(stage.tenant_id)
    if today(database_now()) == today(now):  # else it has rested
        assert found == 0
    with tenant_transaction(stage.tenant_id):
        assert Request.objects.get().state == "rejected"


@given(
    st.lists(st.floats(SHORTEST, 1e7), min_size=1, max_size=60),
    st.sampled_from([0.5, 0.95, 1.0]),
)
def test_a_percentile_is_off_by_no_more_than_half_a_bucket(
    times: list[float], part: float
) -> None:
    buckets = Counter(1 + floor(log(one / SHORTEST) / log(BUCKET)) for one in times)
    exact = sorted(times)[ceil(part * len(times)) - 1]
    assert seconds_at(buckets, part) == pytest.approx(exact, rel=0.0255)


def test_nothing_has_no_percentile() -> None:
    assert seconds_at({}, 0.5) is None


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("day", "hours"), [(date(2024, 3, 31), 23), (date(2024, 10, 27), 25)]
)
def test_a_day_on_which_the_clocks_change_is_counted_whole(
    settings: Any, day: date, hours: int
) -> None:
    """Its first and its last second are of it; those around it are of other days."""
    settings.TIME_ZONE = "Europe/Berlin"
    first = datetime.combine(day, time(0), BERLIN).astimezone(UTC)
    second = timedelta(seconds=1)
    end = first + timedelta(hours=hours)
    stage = fresh_stage()
    requests = stage.ask_all([{}, {}, {}, {}])
    for request, at in zip(
        requests, (first - second, first, end - second, end), strict=True
    ):
        stage.answer(request, verdict=V.REJECT, reason="No.")
        ask_at(request, at)
    around = days_from(day - DAY, day + DAY)

    def rejected() -> list[int]:
        with tenant_transaction(stage.tenant_id):
            span = Range(
                tenant_id=stage.tenant_id,
                now=database_now(),
                first=around[0],
                last=around[-1],
            )
            found = sums(span).by_day
        return [found["outcome", one]["rejected"] for one in around]

    assert rejected() == [1, 2, 1]
    for one in around:
        assert tallying._keep(stage.tenant_id, one)
    assert rejected() == [1, 2, 1]
    by_day = Counter(day for day, _, measure, _, _ in kept(stage) if measure == "tool")
    assert by_day == dict.fromkeys(around, 1)


def test_days_follow_on_each_other_without_a_gap() -> None:
    last = today(database_now())
    given = spans(days_from(last - timedelta(days=400), last))
    assert given["starts"][1:] == given["ends"][:-1]
