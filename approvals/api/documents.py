"""What the doors answer with, rendered inside the verb's own transaction."""

from collections.abc import Sequence
from typing import Any

from approvals.api.tokens import effect_token
from approvals.models import Request
from approvals.reading import as_json, snapshots
from approvals.services.consume import Started
from checkpoints.models import Effect
from sessions.models import Run
from tenants.models import Tenant


def approval_document(request: Request) -> dict[str, Any]:
    """The approval as it stands in this transaction."""
    return approval_documents(_with_names([request]))[0]


def approval_documents(requests: Sequence[Request]) -> list[dict[str, Any]]:
    """Approvals, with their tools and queues at hand, in as many queries as one."""
    names = Tenant.objects.values_list("names_deciders", flat=True).get()
    return [as_json(one, names_deciders=names) for one in snapshots(requests)]


def approval_with_run(made: tuple[Request, Run]) -> dict[str, Any]:
    """After one call: the approval, and the fence of the run it opened."""
    request, run = made
    return {**approval_document(request), "fence": run.fence}


def pause_document(requests: list[Request]) -> dict[str, Any]:
    """The open pause, its checkpoint and its approvals in the order they were asked."""
    pause = requests[0].pause
    return {
        "pause": str(pause.id),
        "checkpoint": {
            "id": str(pause.checkpoint_id),
            "number": pause.checkpoint.number,
            "digest": bytes(pause.checkpoint.digest).hex(),
        },
        "requests": approval_documents(_with_names(requests)),
    }


def _with_names(requests: Sequence[Request]) -> list[Request]:
    """The requests as they are now, in the same order, with their tools and queues."""
    rows = Request.objects.select_related("tool", "queue")
    found = rows.in_bulk([request.id for request in requests])
    return [found[request.id] for request in requests]


def redeemed_document(started: Started) -> dict[str, Any]:
    """The one effect that may happen now, with exactly these arguments."""
    return {
        "effect": {
            "id": str(started.effect.id),
            "tool": started.action.tool,
            "target": started.action.target,
            "arguments": started.action.arguments,
            "idempotency_key": bytes(started.effect.key).hex(),
            "fencing_token": started.fence,
            "attempt": started.attempt.number,
            "not_after": started.attempt.send_before.isoformat(),
        },
        "token": effect_token(started),
        "verification": {"outcome": "passed", "checks": started.report.checks},
    }


def effect_document(effect: Effect) -> dict[str, Any]:
    """An effect after its report."""
    return {
        "id": str(effect.id),
        "state": effect.state,
        "attempt": effect.attempt,
        "external_id": effect.external_id,
        "key": bytes(effect.key).hex(),
    }
