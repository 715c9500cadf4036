"""What happened, in the words of those outside who want to know.

Every change has an entry in the audit log; some entries are events. An event's id is
its entry's, so that whoever is told can find it there. It carries ids and digests.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from approvals.envelope import Envelope
from approvals.models import Request, Revision
from audit.append import Note
from checkpoints.models import Effect
from sessions.models import Run

PING: Final = "webhook.ping"
"""Sent when somebody asks for it, whatever a webhook listens to."""

# The kinds of audit entries that are events wherever they come from.
KINDS: Final[Mapping[str, str]] = {
    "request.asked": "approval.requested",
    "request.revised": "approval.requested",
    "grant.issued": "approval.decided",
    "request.rejected": "approval.decided",
    "request.answered": "approval.decided",
    "request.expired": "approval.expired",
    "request.lapsed": "approval.expired",
    "request.reminded": "approval.reminded",
    "request.escalated": "approval.escalated",
    "request.revoked": "approval.revoked",
    "request.cancelled": "approval.cancelled",
    "approval.broke_glass": "approval.broke_glass",
    "grant.consumed": "approval.consumed",
    "agent.unusual": "agent.unusual",
    "run.paused": "run.paused",
    "run.running": "run.resumed",
    "run.needs_attention": "run.needs_review",
    "run.completed": "run.completed",
    "run.failed": "run.failed",
    "run.cancelled": "run.cancelled",
    "effect.confirmed": "effect.confirmed",
    "effect.failed": "effect.failed",
    "effect.unknown": "effect.unknown",
}
ANOTHER_KEY: Final = "approval.needs_another_key"
"""Told to chats alone: somebody approved, and somebody else has to as well."""

# Kinds that are events only when they say certain things: see `type_of`.
SOMETIMES: Final = ("decision.recorded", "verification.refused")
ASKING: Final = frozenset({"approval.reminded", "approval.escalated"})
EVENT_TYPES: Final = tuple(dict.fromkeys([*KINDS.values(), "approval.authority_lost"]))


def type_of(kind: str, actor_type: str, data: Mapping[str, Any]) -> str | None:
    """The type of event that an audit entry is; None if it is none."""
    if kind == "decision.recorded":
        verdict = data.get("verdict")
        refused_by_policy = actor_type == "policy" and verdict == "reject"
        ends = refused_by_policy or verdict == "request_changes"
        return "approval.decided" if ends else None
    if kind == "verification.refused":
        lost = data.get("class") in {"reopen", "stop"}
        return "approval.authority_lost" if lost else None
    return KINDS.get(kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event: what it is about is told by `describe`.

    `members` are those whom it concerns, where it is about people's being asked: for what
    tells them. Nobody outside is told their ids.
    """

    id: UUID
    type: str
    about: str  # request, run or effect
    about_id: UUID
    code: str = ""
    members: tuple[UUID, ...] = ()


def happenings(notes: Iterable[Note]) -> list[Happening]:
    """Those of the notes that are events, in order."""
    found = []
    for note in notes:
        type = type_of(note.kind, note.actor.type, note.data)
        if type is not None:
            found.append(happening(note.id, type, note.subject, note.data))
    return found


def keys_turned(notes: Iterable[Note]) -> list[Happening]:
    """The approvals among the notes; which of them leave it waiting, rows say."""
    return [
        happening(one.id, ANOTHER_KEY, one.subject, one.data)
        for one in notes
        if one.kind == "decision.recorded" and one.data.get("verdict") == "approve"
    ]


def happening(
    id: UUID, type: str, subject: tuple[str, UUID | None], data: Mapping[str, Any]
) -> Happening:
    """An event from what its audit entry says."""
    about, about_id = subject
    if about in {"grant", "decision"}:
        about, about_id = "request", UUID(data["request"])
    assert about_id is not None
    code = str(data.get("code", ""))
    members = tuple(map(UUID, data["members"])) if type in ASKING else ()
    return Happening(
        id=id, type=type, about=about, about_id=about_id, code=code, members=members
    )


class Surroundings:
    """The rows that some events are about, read together, in the tenant's scope."""

    def __init__(self, events: Iterable[Happening]) -> None:
        events = list(events)
        self._asked_now = {
            event.about_id for event in events if event.type == "approval.requested"
        }
        of: dict[str, set[UUID]] = {"request": set(), "run": set(), "effect": set()}
        for event in events:
            of[event.about].add(event.about_id)
        self._effects = Effect.objects.in_bulk(of["effect"])
        asked = of["request"] | {each.request for each in self._effects.values()}
        requests = Request.objects.select_related("tool")
        self._requests = requests.in_bulk(asked)
        runs = of["run"] | {each.run_id for each in self._requests.values()}
        self._runs = Run.objects.in_bulk(runs)
        self._wordings = _wordings(self._requests)

    def agent_of(self, event: Happening) -> UUID | None:
        """Whose event it is."""
        run = self._run(event)
        return run.agent_id if run else None

    def is_decided_at_once(self, event: Happening) -> bool:
        """Whether policy answered before anybody could: nobody was asked."""
        request = self.request_of(event)
        return (
            request is not None
            and request.id in self._asked_now
            and (request.revision == 1)
        )

    def describe(
        self, event: Happening, *, with_arguments: bool = False
    ) -> dict[str, Any]:
        """Ids, digests and states; arguments only where they were asked for."""
        told: dict[str, Any] = {}
        if run := self._run(event):
            told |= {
                "agent": str(run.agent_id),
                "session": str(run.session_id),
                "run": str(run.id),
                "run_status": run.state,
            }
        if request := self.request_of(event):
            told |= self._of_request(request, with_arguments)
        if effect := self._effects.get(event.about_id):
            told |= {"effect": str(effect.id), "effect_key": bytes(effect.key).hex()}
        return told | ({"code": event.code} if event.code else {})

    def request_of(self, event: Happening) -> Request | None:
        """The request that it is about; None for a run's and a ping."""
        effect = self._effects.get(event.about_id)
        return self._requests.get(effect.request if effect else event.about_id)

    def _run(self, event: Happening) -> Run | None:
        request = self.request_of(event)
        return self._runs.get(request.run_id if request else event.about_id)

    def _of_request(self, request: Request, with_arguments: bool) -> dict[str, Any]:
        wording = self._wordings[request.id]
        told: dict[str, Any] = {
            "approval": str(request.id),
            "status": request.state,
            "tool": request.tool.name,
            "tool_call_id": request.tool_call_id,
            "revision": request.revision,
            "digest": bytes(wording.digest).hex(),
        }
        if with_arguments:
            action = Envelope(bytes(wording.envelope)).action
            told |= {"arguments": action.arguments, "target": action.target}
        return told


def _wordings(requests: Mapping[UUID, Request]) -> dict[UUID, Revision]:
    current = {(one.id, one.revision) for one in requests.values()}
    rows = Revision.objects.filter(request_id__in=requests) if requests else ()
    return {
        row.request_id: row for row in rows if (row.request_id, row.number) in current
    }
