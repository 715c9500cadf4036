"""AG-UI: what a run waits for as its interrupts, and what a page sends back.

    try:
        messages = run.drive(anthropic_messages(run, model, tools, start, timeout=0))
    except Paused:
        outcome = run.drive(interrupted(run))  # of the RUN_FINISHED event
    ...
    run.drive(take_resume(run, body["resume"]))  # of the next request, then go on

A page is the agent's own, and nobody knows who sits before it: a resume entry takes a
question back, or says that it is time to look again. It answers nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keyturn import calls, questions
from keyturn.documents import Approval
from keyturn.errors import KeyturnError
from keyturn.flows import Flow, send
from keyturn.work import Work, refresh

Json = dict[str, Any]
ABANDONED = "It was abandoned on the agent's page."
_OPEN = ("pending", "changes_requested")


class NotUnderstood(KeyturnError):
    """A resume body that is none, or that names no question of this run."""


def interrupted(run: Work) -> Flow[Json | None]:
    """The outcome of RUN_FINISHED: what nobody has answered yet. None: nothing."""
    known = yield from questions.asked_before(run, run.id)
    waiting = [one for one in reversed(known) if one.status in _OPEN]
    if not waiting:
        return None
    return {"type": "interrupt", "interrupts": [_interrupt(one) for one in waiting]}


def take_resume(run: Work, entries: Any) -> Flow[list[Approval]]:
    """Take back what was cancelled; the questions that are meant, as they stand.

    No payload approves anything; one of exactly `{"approved": False}` counts as
    cancelled. Raises `NotUnderstood` before anything is done.
    """
    asked = yield from questions.asked_before(run, run.id)
    known = {one.id: one for one in asked}
    meant = [_read(one, known) for one in _listed(entries)]
    found = []
    for approval, is_cancelled in meant:
        call = (
            calls.withdraw_approval(approval, reason=ABANDONED)
            if is_cancelled and known[approval].status in (*_OPEN, "approved")
            else calls.get_approval(approval)
        )
        found.append((yield from send(run, call)))
    yield from refresh(run)
    return found


def _interrupt(approval: Approval) -> Json:
    told = {
        "id": approval.id,
        "reason": "approval",
        "message": f"{approval.title}: {approval.review_url}",
        "expiresAt": approval.decide_by.isoformat(),
        "metadata": {"reviewUrl": approval.review_url, "tool": approval.tool},
    }
    call = approval.tool_call_id
    return told if call is None else {**told, "toolCallId": call}


def _listed(entries: Any) -> Sequence[Any]:
    if not isinstance(entries, list):
        raise NotUnderstood("a resume body is a list of entries")
    return entries


def _read(entry: Any, known: Mapping[str, Approval]) -> tuple[str, bool]:
    """(approval, whether it is not wanted): a page's no is taken at its word, a yes is
    nobody's."""
    if not isinstance(entry, Mapping):
        raise NotUnderstood("a resume entry is an object")
    id, status = entry.get("interruptId"), entry.get("status")
    if not isinstance(id, str) or id not in known:
        raise NotUnderstood("a resume entry names no question of this run")
    if status not in ("resolved", "cancelled"):
        raise NotUnderstood("a resume entry is resolved or cancelled")
    is_no = entry.get("payload") == {"approved": False}
    return id, status == "cancelled" or is_no
