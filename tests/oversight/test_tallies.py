"""Days that are over are counted once, and say the same as if they were counted now."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from math import ceil, floor, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.models import Decision, Request
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from oversight.models import Tally
from oversight.pages.insights.measure import Sums, last_days, sums
from oversight.services.tallying import tally_tenant
from oversight.tallies import (
    BUCKET,
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
from tests.oversight.test_insights import age, shown

V = Decision.Verdict


@pytest.fixture
def stage() -> Stage:
    """Four days ago one was rejected; five days ago one, and another still waits."""
    stage = fresh_stage()
    for days, ends in ((4, True), (5, True), (5, False)):
        request = stage.ask()
        if ends:
            reader(stage).decide(request.id, "reject", reason="No.")
        age(request, days=days)
    return stage


def counted(stage: Stage) -> Sums:
    with tenant_transaction(stage.tenant_id):
        return sums(last_days(stage.tenant_id, 14))


def kept(stage: Stage) -> list[tuple[Any, ...]]:
    columns = ("day", "queue", "measure", "key", "total")
    with tenant_transaction(stage.tenant_id):
        return sorted(Tally.objects.values_list(*columns), key=str)


def test_what_is_kept_says_the_same(stage: Stage) -> None:
    before, page = counted(stage), shown(stage)
    assert before.total["outcome"] == {"rejected": 2}
    tally_tenant(stage.tenant_id)
    assert days_kept_of(stage) == [4]
    assert counted(stage) == before
    assert replace(shown(stage), now=page.now, ages=page.ages) == page


def days_kept_of(stage: Stage) -> list[int]:
    """How many days ago each was."""
    with tenant_transaction(stage.tenant_id):
        now = today(database_now())
        found = days_kept(stage.tenant_id, now - timedelta(days=14), now)
    return sorted((now - day).days for day in found)


def test_a_day_that_was_kept_is_not_counted_again(stage: Stage) -> None:
    tally_tenant(stage.tenant_id)
    with superuser() as root:
        root.execute(
            "UPDATE approvals_request SET state = 'expired'"
            " WHERE tenant_id = %s AND state = 'rejected'",
            [stage.tenant_id],
        )
    # The other day is not settled, so it is counted as it is now.
    assert counted(stage).total["outcome"] == {"rejected": 1, "expired": 1}


def test_a_day_is_kept_once_it_is_settled_and_only_once(stage: Stage) -> None:
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
    assert days_kept_of(stage) == [4, 5]
    assert counted(stage).total["outcome"] == {"rejected": 2, "expired": 1}


def test_two_at_once_keep_it_once(stage: Stage, monkeypatch: Any) -> None:
    from oversight.services import tallying

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
    age(request, days=1)
    assert tally_tenant(stage.tenant_id) == 0
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


def test_days_follow_on_each_other_without_a_gap() -> None:
    last = today(database_now())
    given = spans(days_from(last - timedelta(days=400), last))
    assert given["starts"][1:] == given["ends"][:-1]
