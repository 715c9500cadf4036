"""A checkpoint restores exactly what was saved, or refuses; it never guesses."""

import json

import pytest

from examples.invoice.actions import Action
from examples.invoice.agent import name_of_task
from examples.invoice.log_lines import OneLineFormatter
from examples.invoice.progress import (
    SCHEMA_VERSION,
    CheckpointUnreadable,
    Outcome,
    Progress,
    Step,
    restore,
)

ACTION = Action(
    tool="hold_payment",
    target="INV-1044",
    arguments={"invoice_id": "INV-1044", "amount": "1303.50", "note": "é\u2028"},
    explanation="A duplicate.",
)
PROGRESS = Progress(
    invoice_id="INV-1044",
    step=Step.FINISH,
    order_id="PO-7725",
    digests={"INV-1044": "ab" * 32, "PO-7725": "cd" * 32},
    duplicate_of="INV-1039",
    validation_status="passed",
    action=ACTION,
    outcome=Outcome(result="held", external_id="PH-501"),
)


@pytest.mark.parametrize("progress", [Progress(invoice_id="INV-1042"), PROGRESS])
def test_what_was_saved_is_restored(progress: Progress) -> None:
    assert restore(progress.payload(), schema_version=SCHEMA_VERSION) == progress


def test_the_payload_is_the_same_text_each_time() -> None:
    again = restore(PROGRESS.payload(), schema_version=SCHEMA_VERSION)
    assert again.payload() == PROGRESS.payload()


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION + 1])
def test_another_schema_is_refused_with_what_to_do(version: int) -> None:
    with pytest.raises(CheckpointUnreadable, match="run the version of the agent"):
        restore(PROGRESS.payload(), schema_version=version)


@pytest.mark.parametrize(
    "change",
    [
        {"step": "approve"},
        {"step": None},
        {"approved": True},
        {"outcome": {"result": "sent", "approved": True}},
        {"action": {"tool": "hold_payment"}},
    ],
)
def test_a_payload_that_says_something_else_is_refused(change) -> None:
    payload = json.dumps(json.loads(PROGRESS.payload()) | change)
    with pytest.raises(CheckpointUnreadable, match="damaged"):
        restore(payload, schema_version=SCHEMA_VERSION)


@pytest.mark.parametrize("payload", ["", "null", "[]", '"x"', "{}", "{"])
def test_what_is_no_payload_is_refused(payload: str) -> None:
    with pytest.raises(CheckpointUnreadable):
        restore(payload, schema_version=SCHEMA_VERSION)


def test_the_header_says_what_is_done_and_what_is_left() -> None:
    for position, step in enumerate(Step):
        header = Progress(invoice_id="INV-1042", step=step).header()
        assert header["completed"] == list(Step)[:position]
        assert header["pending"] == list(Step)[position:]
    assert PROGRESS.header()["markers"] == {
        "documents": dict(PROGRESS.digests),
        "validation_status": "passed",
    }


@pytest.mark.parametrize(
    ("invoice_id", "task"),
    [("INV-1042", "TASK-1842"), ("INV-7", "TASK-807"), ("X-1", "TASK-X-1")],
)
def test_the_task_is_named_after_the_invoice(invoice_id: str, task: str) -> None:
    assert name_of_task(invoice_id) == task


def test_a_log_line_stays_one_line() -> None:
    import logging

    text = "read\r\nINV-1 \x1b[31mred\x1b[0m \u202egnp\u202c \u200b €93"
    record = logging.LogRecord("agent", 20, "", 0, text, None, None)
    line = OneLineFormatter("%(message)s").format(record)
    assert line == (
        "read\\r\\nINV-1 \\x1b[31mred\\x1b[0m \\u202egnp\\u202c \\u200b €93"
    )
