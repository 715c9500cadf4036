"""Our words: spans of time, digests, and a mark for every status there is."""

from datetime import timedelta

import pytest
from django.db.models import TextChoices

from approvals.models import Decision, Request
from approvals.presentation.marks import EFFECT, REQUEST, RUN, VERDICT, Mark, mark
from approvals.presentation.words import counted, digest_words, span
from checkpoints.models import Effect
from sessions.models import Run
from tests.approvals.presentation import samples


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(seconds=-5), "0 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(minutes=38), "38 min"),
        (timedelta(minutes=102), "1 h 42 min"),
        (timedelta(hours=5), "5 h"),
        (timedelta(hours=14, minutes=3), "14 h"),
        (timedelta(hours=25), "1 day"),
        (timedelta(days=26), "26 days"),
    ],
)
def test_a_span_is_said_as_people_say_it(length: timedelta, words: str) -> None:
    assert span(length) == words


def test_a_digest_is_short_and_a_short_one_whole() -> None:
    assert digest_words("9f3c2b71" + "0" * 48 + "77aee04d") == "9f3c 2b71 … 77ae e04d"
    assert digest_words("9f3c2b71", pairs=1) == "9f3c 2b71"


def test_counts_agree_with_their_noun() -> None:
    assert (counted(1, "day"), counted(2310, "record")) == ("1 day", "2,310 records")


@pytest.mark.parametrize(
    ("states", "marks"),
    [
        (Request.State, REQUEST),
        (Run.State, RUN),
        (Effect.State, EFFECT),
        (Decision.Verdict, VERDICT),
    ],
    ids=["request", "run", "effect", "verdict"],
)
def test_every_status_has_its_mark(
    states: type[TextChoices], marks: dict[str, Mark]
) -> None:
    assert set(states.values) == set(marks)


def test_a_status_without_a_mark_is_shown_as_it_is() -> None:
    assert mark("run", "half_done") == Mark("unknown", "Half done")


def test_initials_are_of_first_and_last_name() -> None:
    assert samples.SHELL.initials == "AR"
