"""What an instance reads: protocol objects without unknown fields and without nulls."""

import json
from datetime import UTC, datetime
from typing import Any, Final

from approvals.envelope import Envelope
from approvals.models import AAPRequest, Grant, Request
from approvals.queries import current_revision
from approvals.services.aap import grant_of
from approvals.vault import open_note, open_texts
from kernel.clock import database_now

S = Request.State
STATUSES: Final = {
    S.PENDING: "pending",
    S.CHANGES_REQUESTED: "pending",
    S.APPROVED: "approved",
    S.CONSUMED: "approved",
    S.REVOKED: "approved",  # decided so once; it cannot be consumed any more
    S.LAPSED: "approved",
    S.REJECTED: "denied",
    S.ANSWERED: "denied",
    S.EXPIRED: "expired",
    S.CANCELLED: "cancelled",
    S.SUPERSEDED: "cancelled",
}


def is_terminal(text: str) -> bool:
    return bool(json.loads(text)["status"] != "pending")


def request_text(known: AAPRequest) -> str:
    """The request object as JSON text, inside the tenant's scope.

    Raises `data_erased` (410) once it cannot be told any more as it came.
    """
    request = Request.objects.select_related("tool").get(id=known.request_id)
    texts = open_texts(known, session_id=request.session_id)
    action = Envelope(bytes(current_revision(request).envelope)).action
    grant = grant_of(known)
    status = _status(request, grant)
    told: dict[str, Any] = {
        "id": str(request.id),
        "tool": action.tool,
        "server": texts["server"],
        "arguments": action.arguments,
        "timeout": known.timeout,
        "agent_reasoning": texts["reasoning"],
        "status": status,
        "created_at": _moment(known.asked_at),
        "deadline_at": _moment(known.deadline_at),
        "decision": _decision(request, status, grant),
        "consumption": _consumption(known, request, grant),
    }
    text = json.dumps({name: each for name, each in told.items() if each is not None})
    if texts["context"] is None:
        return text
    return f'{text[:-1]}, "context": {texts["context"]}}}'  # as it came, to the byte


def _status(request: Request, grant: Grant | None) -> str:
    """Approved only once it may be used: a client does not wait any more then."""
    status = STATUSES[S(request.state)]
    early = grant is not None and database_now() < grant.not_before
    return "pending" if status == "approved" and early else status


def _decision(
    request: Request, status: str, grant: Grant | None
) -> dict[str, str] | None:
    if status == "pending":
        return None
    decided = request.decided_at
    if status == "approved":
        assert grant is not None
        return {
            "status": status,
            "decided_at": _moment(grant.not_before),
            "expires_at": _moment(grant.expires_at),
        }
    assert decided is not None
    note = {"note": request.resolution} if request.resolution.strip() else {}
    return {"status": status, "decided_at": _moment(decided), **note}


def _consumption(
    known: AAPRequest, request: Request, grant: Grant | None
) -> dict[str, Any] | None:
    if known.consume_key is None:
        return None
    assert grant is not None
    assert grant.ended_at is not None
    told: dict[str, Any] = {"consumed_at": _moment(grant.ended_at)}
    if known.reported_at is not None:
        note = open_note(known, session_id=request.session_id)
        told["outcome"] = {
            "status": known.outcome,
            "reported_at": _moment(known.reported_at),
            **({"note": note} if note else {}),
        }
    return told


def _moment(at: datetime) -> str:
    """UTC at fixed precision, ending in Z: the protocol refuses an offset."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
