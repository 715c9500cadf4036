"""The two shapes in which a pause is asked and answered, and what each answer is called.

The shape and the place of each question are in the name that its call has in the run, so
that an answer never goes to another action, however the rows come.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from approvals.asks import Ask
from approvals.envelope import Envelope
from approvals.models import Pause, Request, Revision
from approvals.problems import NOT_FOUND
from approvals.reading import Snapshot, next_step, snapshots
from kernel.canonical import canonical_bytes
from kernel.ids import new_id
from tenants.principal import Principal

S: Final = Request.State
AGREED: Final = (S.APPROVED, S.CONSUMED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One question as it stands, and the arguments that it was asked with."""

    now: Snapshot
    asked: dict[str, Any]

    @property
    def arguments(self) -> dict[str, Any]:
        return Envelope(bytes(self.now.revision.envelope)).action.arguments

    @property
    def is_edited(self) -> bool:
        return canonical_bytes(self.arguments) != canonical_bytes(self.asked)

    @property
    def refusal(self) -> str:
        request = self.now.request
        return request.resolution or f"Not done: {request.state}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A framework's form: its `name` among calls, and how answers are written in it."""

    name: str
    place: str  # the pointer of a question in the body, by its number
    members: dict[str, str]  # of a question, by what they are called here
    response: Callable[[Sequence[Answered]], Any]

    def named(self, asks: Sequence[Ask]) -> list[Ask]:
        """The questions, each under a name with its place in it."""
        together = new_id().hex
        return [
            replace(ask, tool_call_id=f"{self.name}:{together}/{index}")
            for index, ask in enumerate(asks)
        ]

    def index(self, request: Request) -> int | None:
        """The place of a question among those of its body; None for another shape's."""
        called = rf"{self.name}:[0-9a-f]{{32}}/([0-9]+)"
        found = re.fullmatch(called, request.tool_call_id or "")
        return int(found[1]) if found else None


def answered_in(
    shape: Shape, principal: Principal, pause_id: UUID
) -> tuple[Pause, list[Answered]]:
    """The agent's own pause, with its questions in their order.

    Raises `not_found` where there is none, or it was not asked in this shape.
    """
    rows = Request.objects.filter(pause_id=pause_id, agent_id=principal.agent_id)
    placed = {shape.index(one): one for one in rows.select_related("tool", "queue")}
    if not placed or None in placed:
        raise NOT_FOUND("No such interrupt.")
    found = snapshots([placed[index] for index in sorted(placed)])  # type: ignore[type-var]
    first = Revision.objects.filter(request__pause_id=pause_id, number=1)
    asked = {one.request_id: Envelope(bytes(one.envelope)) for one in first}
    return found[0].pause, [
        Answered(now=one, asked=asked[one.request.id].action.arguments) for one in found
    ]


def is_answered(answers: Sequence[Answered]) -> bool:
    """Whether the agent may go on with each of them."""
    return all(next_step(one.now) not in ("wait", "revise") for one in answers)


def _decision(one: Answered) -> dict[str, Any]:
    request = one.now.request
    if request.state in AGREED and one.is_edited:
        action = {"name": request.tool.name, "args": one.arguments}
        return {"type": "edit", "edited_action": action}
    if request.state in AGREED:
        return {"type": "approve"}
    if request.state == S.ANSWERED:
        return {"type": "respond", "message": _text(request.response)}
    return {"type": "reject", "message": one.refusal}


def _human(one: Answered) -> dict[str, Any]:
    request = one.now.request
    if request.state in AGREED and one.is_edited:
        action = {"action": request.tool.name, "args": one.arguments}
        return {"type": "edit", "args": action}
    if request.state in AGREED:
        return {"type": "accept", "args": None}
    if request.state == S.ANSWERED:
        return {"type": "response", "args": _text(request.response)}
    if "respond" in request.allowed:
        return {"type": "response", "args": one.refusal}
    return {"type": "ignore", "args": None}


def _text(response: Any) -> str:
    return response if isinstance(response, str) else canonical_bytes(response).decode()


HITL: Final = Shape(
    name="hitl",
    place="/action_requests/{}",
    members={"tool": "name", "arguments": "args"},
    response=lambda answers: {"decisions": [_decision(one) for one in answers]},
)
HUMAN: Final = Shape(
    name="human",
    place="/action_request",
    members={"tool": "action", "arguments": "args"},
    response=lambda answers: _human(answers[0]),
)
