"""A run as a trace that `agentack check` grades: JSONL, version 2 of its format.

Each revision is an action of its own with an approval of its own; the request is what is
meant by all of them (`intent_id`). An effect is executed under the approval whose grant
it used, with the arguments that were sent: whatever does not fit together in the rows
does not fit together in the trace. All is written as calls of tools (`mcp:call`), which
agentack wants approved unless it is told otherwise.

However long a run is, no more of it is in memory than a batch of its requests and what
happened to earlier ones while those were open.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from itertools import batched, count
from typing import IO, Any, Final
from uuid import UUID

from django.db.models import Model, QuerySet

from approvals.envelope import Envelope
from approvals.models import Grant, Request, Revision
from approvals.pages.viewer import Viewer
from audit.queries import chain_snapshot
from checkpoints.models import Attempt, Effect
from kernel.strict_json import parse
from oversight.queries import visible_requests, visible_run
from sessions.models import Run
from sessions.runs import ENDED

VERSION: Final = 2
BATCH: Final = 100  # requests whose rows are read together
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


def write_agentack_trace(viewer: Viewer, run_id: UUID, out: IO[bytes]) -> None:
    """A line an event, in the order of time, as of one moment.

    Raises `not_found` for a run that is not seen.
    """
    with chain_snapshot(viewer.membership.tenant_id):
        run = visible_run(viewer, run_id)
        last = run.created_at
        for at, said in _in_order(_asked_in(viewer, run)):
            out.write(_line(run, at, said))
            last = max(last, at)
        if run.state in ENDED:
            out.write(_line(run, last, {"type": "session_end", "reason": run.state}))


def _asked_in(viewer: Viewer, run: Run) -> Iterator["_Asked"]:
    """Each request with its rows, in the order in which they were asked."""
    seen = visible_requests(viewer).filter(run_id=run.id).order_by("created_at", "id")
    for requests in batched(seen.iterator(chunk_size=BATCH), BATCH, strict=False):
        yield from _read(requests)


def _in_order(asked: Iterable["_Asked"]) -> Iterator[Event]:
    """All events by their time: nothing of a request is before it was asked."""
    waiting: list[tuple[datetime, int, dict[str, Any]]] = []
    numbers = count()
    for one in asked:
        while waiting and waiting[0][0] <= one.request.created_at:
            yield _next(waiting)
        for at, said in _events(one):
            at = max(at, one.request.created_at)
            heappush(waiting, (at, next(numbers), said))
    while waiting:
        yield _next(waiting)


def _next(waiting: list[tuple[datetime, int, dict[str, Any]]]) -> Event:
    at, _, said = heappop(waiting)
    return at, said


def _line(run: Run, at: datetime, said: dict[str, Any]) -> bytes:
    fixed = {"schema_version": VERSION, "timestamp": at.isoformat()}
    line = json.dumps({**fixed, "session_id": str(run.id), **said})
    return f"{line}\n".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request, with the rows that say what became of it."""

    request: Request
    revisions: Sequence[Revision]
    grants: Mapping[UUID, Grant]  # by revision
    effects: Sequence[Effect]
    attempts: Mapping[UUID, Sequence[Attempt]]  # by effect


def _read(requests: Sequence[Request]) -> Iterator[_Asked]:
    """Four statements for all of them."""
    ids = [one.id for one in requests]
    revisions = _by(Revision.objects.filter(request__in=ids), "request_id", "number")
    grants = _by(Grant.objects.filter(request__in=ids), "request_id", "created_at")
    effects = _by(Effect.objects.filter(request__in=ids), "request", "created_at")
    carried_out = [effect.id for some in effects.values() for effect in some]
    attempts = _by(
        Attempt.objects.filter(effect__in=carried_out), "effect_id", "number"
    )
    for one in requests:
        yield _Asked(
            request=one,
            revisions=revisions[one.id],
            grants={grant.revision_id: grant for grant in grants[one.id]},
            effects=effects[one.id],
            attempts=attempts,
        )


def _by[Row: Model](
    rows: QuerySet[Row], of: str, order: str
) -> defaultdict[UUID, list[Row]]:
    """Rows by what they are of, each in order."""
    found = defaultdict[UUID, list[Row]](list)
    for row in rows.order_by(order, "id"):
        found[getattr(row, of)].append(row)
    return found


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


def _events(asked: _Asked) -> Iterator[Event]:
    later = [*asked.revisions[1:], None]
    for revision, following in zip(asked.revisions, later, strict=True):
        grant = asked.grants.get(revision.id)
        lane = _Lane(asked.request, f"{asked.request.id}:{revision.number}")
        _ask(lane, revision)
        _answer(lane, grant, following)
        _carry_out(lane, grant, asked)
        yield from lane.events
    known = {one.id for one in asked.grants.values()}
    for effect in asked.effects:
        if effect.grant not in known:
            yield from _unapproved(asked.request, effect)


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


def _carry_out(lane: _Lane, grant: Grant | None, asked: _Asked) -> None:
    if grant is None:
        return
    done = False
    for effect in asked.effects:
        if effect.grant == grant.id:
            for at in _executions(asked.attempts[effect.id]):
                lane.add("action_executed", at, action=_sent(effect))
                done = True
    if not done and grant.state in {Grant.State.REVOKED, Grant.State.LAPSED}:
        lane.add("action_blocked", grant.ended_at or grant.created_at, reason="revoked")


def _executions(attempts: Iterable[Attempt]) -> Iterator[datetime]:
    """When it was carried out: tries again under its key only where one was confirmed."""
    before = ""
    for attempt in attempts:
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
