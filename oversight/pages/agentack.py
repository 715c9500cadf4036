"""A run as a trace that `agentack check` grades: JSONL, version 2 of its format.

Each revision is an action of its own with an approval of its own; the request is what is
meant by all of them (`intent_id`). An effect is executed under the approval whose grant
it used, with the arguments that were sent: whatever does not fit together in the rows
does not fit together in the trace. All is written as calls of tools (`mcp:call`), which
agentack wants approved unless it is told otherwise. Inside the tenant's scope.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from approvals.envelope import Envelope
from approvals.models import Grant, Request, Revision
from approvals.pages.viewer import Viewer
from checkpoints.models import Attempt, Effect
from kernel.strict_json import parse
from oversight.queries import visible_requests, visible_run
from sessions.models import Run
from sessions.runs import ENDED

VERSION: Final = 2
REFUSED: Final = frozenset(
    {
        Request.State.REJECTED,
        Request.State.ANSWERED,
        Request.State.EXPIRED,
        Request.State.CANCELLED,
        Request.State.SUPERSEDED,
    }
)

type Event = tuple[datetime, dict[str, Any]]


def agentack_trace(viewer: Viewer, run_id: UUID) -> str:
    """A line an event, in the order of time. Raises `not_found` for what is not seen."""
    run = visible_run(viewer, run_id)
    seen = visible_requests(viewer).filter(run_id=run.id).order_by("created_at", "id")
    events = [event for one in seen for event in _of_request(one)]
    events.sort(key=lambda event: event[0])
    lines = [_line(run, *event) for event in events]
    if run.state in ENDED:
        last = max([run.created_at, *(at for at, _ in events)])
        lines.append(_line(run, last, {"type": "session_end", "reason": run.state}))
    return "".join(f"{line}\n" for line in lines)


def _line(run: Run, at: datetime, said: dict[str, Any]) -> str:
    fixed = {"schema_version": VERSION, "timestamp": at.isoformat()}
    return json.dumps({**fixed, "session_id": str(run.id), **said})


@dataclass(slots=True)
class _Lane:
    """What happened to one revision: nothing of it before what it follows from."""

    request: Request
    approval: str
    events: list[Event] = field(default_factory=list)

    def add(self, kind: str, at: datetime, **said: Any) -> None:
        at = max([at, *(earlier for earlier, _ in self.events[-1:])])
        names = {
            "action_id": self.approval,
            "intent_id": str(self.request.id),
            "approval_id": self.approval,
        }
        if kind == "action_proposed":
            del names["approval_id"]
        self.events.append((at, {"type": kind, **names, **said}))


def _of_request(request: Request) -> Iterator[Event]:
    of = {"request_id": request.id}
    revisions = list(Revision.objects.filter(**of).order_by("number"))
    grants = {one.revision_id: one for one in Grant.objects.filter(**of)}
    effects = list(Effect.objects.filter(request=request.id).select_related("tool"))
    later = [*revisions[1:], None]
    for revision, following in zip(revisions, later, strict=True):
        grant = grants.get(revision.id)
        lane = _Lane(request, f"{request.id}:{revision.number}")
        _ask(lane, revision)
        _answer(lane, grant, following)
        mine = [one for one in effects if grant and one.grant == grant.id]
        _carry_out(lane, grant, mine)
        yield from lane.events
    known = {one.id for one in grants.values()}
    for effect in effects:
        if effect.grant not in known:
            yield from _unapproved(request, effect)


def _ask(lane: _Lane, revision: Revision) -> None:
    envelope = Envelope(bytes(revision.envelope))
    asked = envelope.action
    action = _action(asked.tool, asked.arguments)
    lane.add("action_proposed", revision.created_at, action=action)
    lane.add("approval_requested", revision.created_at, action=action)


def _answer(lane: _Lane, grant: Grant | None, following: Revision | None) -> None:
    request = lane.request
    if grant is not None:
        until = grant.expires_at.isoformat()
        allowed = {"decision": "allow", "expires_at": until}
        lane.add("approval_decision", grant.created_at, **allowed)
    elif following is not None:
        _deny(lane, following.created_at, "asked again in other words")
    elif request.state in REFUSED and request.decided_at:
        _deny(lane, request.decided_at, request.state)


def _deny(lane: _Lane, at: datetime, reason: str) -> None:
    lane.add("approval_decision", at, decision="deny")
    lane.add("action_blocked", at, reason=reason)


def _carry_out(lane: _Lane, grant: Grant | None, effects: Iterable[Effect]) -> None:
    done = False
    for effect in effects:
        for at in _executions(effect):
            lane.add("action_executed", at, action=_sent(effect))
            done = True
    if grant and not done and grant.state in {Grant.State.REVOKED, Grant.State.LAPSED}:
        lane.add("action_blocked", grant.ended_at or grant.created_at, reason="revoked")


def _executions(effect: Effect) -> Iterator[datetime]:
    """When it was carried out: tries again under its key only where one was confirmed."""
    before = ""
    for attempt in Attempt.objects.filter(effect=effect).order_by("number"):
        if before in {"", Effect.State.CONFIRMED}:
            yield attempt.created_at
        before = attempt.outcome or Effect.State.UNKNOWN


def _unapproved(request: Request, effect: Effect) -> Iterator[Event]:
    """An effect whose grant the request does not have."""
    names = {"action_id": str(effect.id), "intent_id": str(request.id)}
    for kind in ("action_proposed", "action_executed"):
        yield effect.created_at, {"type": kind, **names, "action": _sent(effect)}


def _sent(effect: Effect) -> dict[str, Any]:
    said = parse(bytes(effect.action))
    assert isinstance(said, dict)
    return _action(said["tool"], said["arguments"])


def _action(tool: str, arguments: Any) -> dict[str, Any]:
    return {
        "tool": "mcp",
        "operation": "call",
        "resource": tool,
        "parameters": arguments,
    }
