"""Every change to sessions and runs: one verb each, whichever door it came through."""

from sessions.services.artifacts import (
    Upload,
    put_artifact,
    remove_artifact,
)
from sessions.services.drafts import (
    draft_seen,
    publish_draft,
    save_draft,
    validate_draft,
    withdraw_draft,
)
from sessions.services.items import (
    Place,
    append_items,
    branch_session,
    clear_items,
    pop_item,
    replace_items,
)
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
from sessions.services.sessions import begin_session, open_session
from sessions.services.workflows import define_workflow

__all__ = [
    "Place",
    "Upload",
    "append_items",
    "begin_run",
    "begin_session",
    "branch_session",
    "cancel_run",
    "claim_run",
    "clear_items",
    "complete_run",
    "define_workflow",
    "draft_seen",
    "fail_run",
    "heartbeat",
    "open_session",
    "pop_item",
    "publish_draft",
    "put_artifact",
    "record_transition",
    "remove_artifact",
    "replace_items",
    "save_draft",
    "start_run",
    "validate_draft",
    "withdraw_draft",
]
