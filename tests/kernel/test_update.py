"""The conditional update changes one row, or ends the transaction and says why."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet

from kernel.problems import Problem
from kernel.update import LostRace, TooManyRows, update_exactly_one

LATER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
def rows() -> QuerySet[Session]:
    """Two rows that nobody else looks at."""
    batch = uuid4().hex
    for number in range(2):
        Session.objects.create(
            session_key=f"{batch}{number}", session_data=batch, expire_date=LATER
        )
    return Session.objects.filter(session_data=batch)


def test_one_row_is_changed(rows: QuerySet[Session]) -> None:
    one = rows.filter(session_key__endswith="0")
    update_exactly_one(one, expire_date=LATER + timedelta(days=1))
    assert one.get().expire_date == LATER + timedelta(days=1)


def test_a_row_that_moved_on_is_a_lost_race(rows: QuerySet[Session]) -> None:
    moved = rows.filter(session_key__endswith="0", expire_date=LATER - timedelta(1))
    with pytest.raises(LostRace) as caught:
        update_exactly_one(moved, session_data="")
    assert isinstance(caught.value, Problem)
    assert (caught.value.status, caught.value.code) == (409, "lost_race")
    assert "The session is no longer" in caught.value.detail


def test_several_rows_are_never_changed(rows: QuerySet[Session]) -> None:
    with pytest.raises(TooManyRows, match="2 rows"), transaction.atomic():
        update_exactly_one(rows, expire_date=LATER + timedelta(days=1))
    assert set(rows.values_list("expire_date", flat=True)) == {LATER}
