"""Every change to sessions and runs: one verb each, whichever door it came through."""

from sessions.services.runs import (
    begin_run,
    cancel_run,
    claim_run,
    complete_run,
    fail_run,
    heartbeat,
    record_transition,
    start_run,
)
from sessions.services.sessions import append_items, begin_session, open_session
from sessions.services.workflows import define_workflow

__all__ = [
    "append_items",
    "begin_run",
    "begin_session",
    "cancel_run",
    "claim_run",
    "complete_run",
    "define_workflow",
    "fail_run",
    "heartbeat",
    "open_session",
    "record_transition",
    "start_run",
]
