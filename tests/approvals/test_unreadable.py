"""What whoever reaches the database may have put where an envelope was."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError

from approvals.envelope import UNREADABLE, Envelope
from approvals.models import Request
from approvals.pages.sealed import sealed_record
from approvals.resume import sweep as sweeping
from approvals.resume.sweep import sweep
from approvals.services.nudging import nudge
from tests.approvals.stage import fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.test_nudging import due, entries, leads, watched
from tests.examples.waiting import wait_until

OWED = {
    "verdict": "require_review",
    "rules": [],
    "decide_within": 60,
    "use_within": 60,
    "wait": 0,
    "reason": "on_reject",
    "reauthentication": None,
    "editor_counts": False,
    "queue": None,
    "policies": [],
}


def record(**said: Any) -> bytes:
    whole = {
        "tool": {"name": "pay"},
        "arguments": {},
        "target": None,
        "preconditions": [],
        "obligation": OWED,
        **said,
    }
    return json.dumps(whole).encode()


def owing(**said: Any) -> bytes:
    return record(obligation={**OWED, **said})


def test_what_is_whole_is_read() -> None:
    assert sealed_record(Envelope(record())) != {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"null",
        b"[]",
        b"{}",
        record(tool="pay"),
        record(tool=[]),
        record(preconditions=5),
        record(obligation=[]),
        owing(verdict="perhaps"),
        owing(rules=[[]]),
        owing(rules=[{"eligible": {"members": [5]}}]),
        owing(policies=[{"id": 5, "revision": 1, "digest": ""}]),
        owing(policies=[{"id": "x", "revision": 1, "digest": ""}]),
        owing(standing=[]),
        owing(standing={"uses": 1}),
    ],
)
def test_what_cannot_be_read_is_nothing(content: bytes) -> None:
    assert sealed_record(Envelope(content)) == {}


def spoil(request: Request, content: bytes) -> None:
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_revision SET envelope = %s WHERE request_id = %s",
            [content, request.id],
        )


def test_nobody_is_reminded_of_what_cannot_be_read_and_others_are_asked() -> None:
    stage = fresh_stage()
    group, lea, _ = leads(stage)
    watched(stage, escalate_after=120, group_id=group.id)
    request = stage.ask()
    spoil(request, owing(rules=[[]]))
    found = due(stage, request)
    nudge(stage.tenant_id, found.id)
    nudge(stage.tenant_id, found.id)
    (entry,) = entries(stage, request)
    assert entry.kind == "request.escalated"
    assert entry.data["members"] == [str(lea.id)]
    assert stage.fresh(found).due_at is None


# -- A sweep goes on ----------------------------------------------------------------------


@contextmanager
def without_its_wording(request: Request) -> Iterator[None]:
    """It is put back: sweeps of other tests would stumble over it for ever."""
    moved = "UPDATE approvals_revision SET number = number + %s WHERE request_id = %s"
    with superuser() as connection:
        connection.execute(moved, [100, request.id])
        try:
            yield
        finally:
            connection.execute(moved, [-100, request.id])


def test_a_spoilt_row_does_not_keep_a_sweep_from_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = fresh_stage()
    watched(stage)
    bad, good = stage.ask(), stage.ask()
    with without_its_wording(bad):  # before its time: another sweep may come first
        spoilt, _ = due(stage, bad), due(stage, good)
        wait_until(lambda: sweep() and entries(stage, good))
        assert entries(stage, bad) == []
    assert "sweep_failed" in caplog.text
    assert str(spoilt.id) in caplog.text
    wait_until(lambda: sweep() and entries(stage, bad))  # it was put back


@pytest.mark.parametrize("error", [OperationalError("gone"), *(UNREADABLE[1:])])
def test_whatever_a_spoilt_row_raises(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []

    def handle(_: UUID, row: UUID) -> None:
        done.append(row.int)
        if row.int == 1:
            raise error

    rows = [(UUID(int=9), UUID(int=number)) for number in (1, 2)]
    monkeypatch.setattr(sweeping, "_due", lambda _: iter(rows))
    monkeypatch.setattr(sweeping, "SWEEPS", {"some": ("some_table", handle)})
    assert sweep() == {"some": 2}
    assert done == [1, 2]
