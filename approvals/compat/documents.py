"""What the doors answer with: the framework's own answer, and how each question stands."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from approvals.compat.kinds import Answered, Shape, answered_in, is_answered
from approvals.models import Request
from approvals.reading import as_json, review_url, snapshots
from approvals.states import OPEN
from sessions.models import Run
from tenants.models import Tenant
from tenants.principal import Principal


def interrupt_document(
    shape: Shape, principal: Principal, pause_id: UUID
) -> tuple[bool, dict[str, Any]]:
    """Whether it is answered, and the document. Raises `not_found`."""
    pause, answers = answered_in(shape, principal, pause_id)
    over = is_answered(answers)
    return over, {
        "id": str(pause.id),
        "run": str(pause.run_id),
        "answered": over,
        "response": shape.response(answers) if over else None,
        "requests": _requests(answers),
    }


def asked_document(
    shape: Shape, principal: Principal, made: tuple[list[Request], Run]
) -> dict[str, Any]:
    """The same right after asking: also the fence of the run that waits."""
    requests, run = made
    _, document = interrupt_document(shape, principal, requests[0].pause_id)
    return {**document, "fence": run.fence}


def _requests(answers: Sequence[Answered]) -> list[dict[str, Any]]:
    names = Tenant.objects.values_list("names_deciders", flat=True).get()
    return [as_json(one.now, names_deciders=names) for one in answers]


def outcome_document(requests: Sequence[Request]) -> dict[str, Any]:
    """AG-UI's outcome of a run: what still waits for people, or nothing.

    An agent that is to ask differently is waited for as well.
    """
    rows = Request.objects.select_related("tool", "queue")
    found = rows.in_bulk([one.id for one in requests])
    now = snapshots([found[one.id] for one in requests])
    names = Tenant.objects.values_list("names_deciders", flat=True).get()
    waiting = [one for one in now if one.request.state in OPEN]
    interrupts = [_interrupt(one.request) for one in waiting]
    outcome: dict[str, Any] = {"type": "success"}
    if interrupts:
        outcome = {"type": "interrupt", "interrupts": interrupts}
    return {
        "outcome": outcome,
        "requests": [as_json(one, names_deciders=names) for one in now],
    }


def _interrupt(request: Request) -> dict[str, Any]:
    url = review_url(request.id)
    told: dict[str, Any] = {
        "id": str(request.id),
        "reason": "approval",
        "message": f"{request.title}: {url}",
        "metadata": {"reviewUrl": url, "tool": request.tool.name},
    }
    if request.due_at is not None:
        told["expiresAt"] = request.due_at.isoformat()
    if request.tool_call_id is not None:
        told["toolCallId"] = request.tool_call_id
    return told
