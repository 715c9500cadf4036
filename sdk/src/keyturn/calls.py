"""Each operation of the API as a frozen value: what is sent, and how it is read.

Nothing here touches the network. A call's body and idempotency key are fixed when it is
made, so that sending it again is the same request, byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from keyturn import documents, exact
from keyturn.approvals import (
    NOT_MODIFIED,
    Known,
    Outcome,
    Until,
    get_approval,
    get_effect,
    list_approvals,
    list_standing_approvals,
    pause_run,
    poll_approval,
    redeem_approval,
    redeem_in_time,
    report_effect,
    request_approval,
    revise_approval,
    withdraw_approval,
)
from keyturn.artifacts import (
    get_artifact,
    get_artifact_content,
    list_artifacts,
    put_artifact,
    remove_artifact,
)
from keyturn.asks import Fact, Position, given
from keyturn.calling import Answer, Call, get, key_from, key_of, listed, path_of, post
from keyturn.compat import (
    ask_hitl_request,
    ask_human_interrupt,
    get_hitl_response,
    get_human_response,
    resume_interrupts,
)
from keyturn.conversations import (
    append_items,
    begin_branch,
    clear_items,
    get_context,
    get_session,
    keep_summary,
    list_branches,
    list_items,
    list_sessions,
    open_session,
    pop_item,
    record_context,
    replace_items,
)
from keyturn.documents import (
    Checkpoint,
    Fork,
    Page,
    Restored,
    RunDocument,
    RunSummary,
    Saved,
    State,
    StateDiff,
    Transition,
    Version,
    Workflow,
    WorkflowSummary,
)

__all__ = [
    "NOT_MODIFIED",
    "Answer",
    "Call",
    "Known",
    "Outcome",
    "Until",
    "append_items",
    "ask_hitl_request",
    "ask_human_interrupt",
    "begin_branch",
    "clear_items",
    "get_approval",
    "get_artifact",
    "get_artifact_content",
    "get_context",
    "get_effect",
    "get_hitl_response",
    "get_human_response",
    "get_session",
    "keep_summary",
    "key_from",
    "list_approvals",
    "list_artifacts",
    "list_branches",
    "list_items",
    "list_sessions",
    "list_standing_approvals",
    "open_session",
    "pause_run",
    "poll_approval",
    "pop_item",
    "put_artifact",
    "record_context",
    "redeem_approval",
    "redeem_in_time",
    "remove_artifact",
    "replace_items",
    "report_effect",
    "request_approval",
    "resume_interrupts",
    "revise_approval",
    "withdraw_approval",
]


# -- Runs -------------------------------------------------------------------------------


def start_run(
    session: str,
    *,
    external_id: str | None = None,
    workflow: str | None = None,
    lease_seconds: int | None = None,
    branch: int | None = None,
    key: str | None = None,
) -> Call[RunDocument]:
    """Start a run and be its writer; or find the one with this `external_id`."""
    return post(*_start(session, external_id, workflow, lease_seconds, branch), key)


def start_or_find_run(
    session: str,
    *,
    external_id: str,
    workflow: str | None = None,
    lease_seconds: int | None = None,
) -> Call[tuple[RunDocument, bool]]:
    """The same; also says whether it is new, and with that claimed by the caller."""
    kind, path, body = _start(session, external_id, workflow, lease_seconds)
    return Call(
        method="POST",
        path=path,
        content=exact.encode(body),
        key=key_of(None),
        read=lambda answer: (
            documents.read(kind, answer.document),
            answer.status == 201,
        ),
    )


def get_run(run: str) -> Call[RunDocument]:
    """Read a run with its facts and open questions."""
    return get(RunDocument, path_of("runs", run))


def list_runs(
    *,
    external_id: str | None = None,
    state: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[RunSummary]]:
    """The agent's runs, newest first."""
    named = {"external_id": external_id, "state": state}
    return listed(RunSummary, "runs", **named, cursor=cursor, limit=limit)


def claim_run(
    run: str, *, lease_seconds: int | None = None, key: str | None = None
) -> Call[RunDocument]:
    """Become the run's one writer, under a new fence."""
    body = given(lease_seconds=lease_seconds)
    return post(RunDocument, path_of("runs", run, "claim"), body, key)


def heartbeat_run(
    run: str, *, fence: int, lease_seconds: int | None = None, key: str | None = None
) -> Call[RunDocument]:
    """Stay the run's writer for `lease_seconds` from now."""
    body = given(lease_seconds=lease_seconds)
    path = path_of("runs", run, "heartbeat")
    return post(RunDocument, path, body, key, fence)


def record_transition(
    run: str,
    *,
    fence: int,
    expected_version: int,
    reason: str,
    facts: Mapping[str, Fact] | None = None,
    stage: str | None = None,
    key: str | None = None,
) -> Call[Version]:
    """State facts, or move to another stage, if nothing changed since `expected_version`."""
    told = {name: fact.body() for name, fact in (facts or {}).items()}
    body = {
        "expected_version": expected_version,
        "reason": reason,
        **given(facts=told or None, stage=stage),
    }
    return post(Version, path_of("runs", run, "transitions"), body, key, fence)


def list_transitions(
    run: str, *, cursor: str | None = None, limit: int | None = None
) -> Call[Page[Transition]]:
    """What a run went through, newest first."""
    path = path_of("runs", run, "transitions")
    return listed(Transition, path, cursor=cursor, limit=limit)


def get_state(
    run: str, *, version: int | None = None, at: datetime | None = None
) -> Call[State]:
    """State, stage and facts: at a version, at a time, or as they are."""
    when = None if at is None else at.isoformat()
    return get(State, path_of("runs", run, "state"), version=version, at=when)


def diff_state(
    run: str, *, before: int | None = None, after: int | None = None
) -> Call[StateDiff]:
    """Which facts differ between two versions, and how."""
    path = path_of("runs", run, "state", "diff")
    return get(StateDiff, path, before=before, after=after)


def list_workflows(
    *, cursor: str | None = None, limit: int | None = None
) -> Call[Page[WorkflowSummary]]:
    """The kinds of work in their versions of now, the newest of them first."""
    path = path_of("workflows")
    return listed(WorkflowSummary, path, cursor=cursor, limit=limit)


def get_workflow(name: str, *, version: int | None = None) -> Call[Workflow]:
    """What a kind of work permits: in a version, or in the one in force."""
    return get(Workflow, path_of("workflows", name), version=version)


def complete_run(
    run: str, *, fence: int, result: Any = None, key: str | None = None
) -> Call[RunDocument]:
    """End the run as done."""
    body = given(result=result)
    return post(RunDocument, path_of("runs", run, "complete"), body, key, fence)


def fail_run(
    run: str, *, fence: int, reason: str, key: str | None = None
) -> Call[RunDocument]:
    """End the run as failed; a paused one's questions are taken back."""
    body = {"reason": reason}
    return post(RunDocument, path_of("runs", run, "fail"), body, key, fence)


def cancel_run(
    run: str, *, fence: int, reason: str, key: str | None = None
) -> Call[RunDocument]:
    """End the run as not wanted; a paused one's questions are taken back."""
    body = {"reason": reason}
    return post(RunDocument, path_of("runs", run, "cancel"), body, key, fence)


# -- Checkpoints ------------------------------------------------------------------------


def save_checkpoint(
    run: str, position: Position, *, fence: int, key: str | None = None
) -> Call[Saved]:
    """Save where the run can restart, after the head that the caller has seen."""
    path = path_of("runs", run, "checkpoints")
    return post(Saved, path, position.body(), key, fence)


def get_checkpoint(run: str, number: int | Literal["head"]) -> Call[Checkpoint]:
    """Read a checkpoint; its digest is checked."""
    return get(Checkpoint, path_of("runs", run, "checkpoints", str(number)))


def restore_checkpoint(
    run: str, number: int | Literal["head"], *, key: str | None = None
) -> Call[Restored]:
    """Read a checkpoint in today's schema, with a report; on record."""
    path = path_of("runs", run, "checkpoints", str(number), "restore")
    return post(Restored, path, {}, key)


def fork_run(
    run: str,
    number: int,
    *,
    reason: str | None = None,
    lease_seconds: int | None = None,
    key: str | None = None,
) -> Call[Fork]:
    """Open a run that begins at this checkpoint, with nothing of its authority."""
    body = given(reason=reason, lease_seconds=lease_seconds)
    path = path_of("runs", run, "checkpoints", str(number), "fork")
    return post(Fork, path, body, key)


def _start(
    session: str,
    external_id: str | None,
    workflow: str | None,
    lease_seconds: int | None,
    branch: int | None = None,
) -> tuple[type[RunDocument], str, dict[str, Any]]:
    body = given(
        external_id=external_id,
        workflow=workflow,
        lease_seconds=lease_seconds,
        branch=branch,
    )
    return RunDocument, path_of("sessions", session, "runs"), body
