"""How a question ends without its action. Steps inside a verb."""

from datetime import datetime

from approvals.models import Decision, Request, Revision
from approvals.services.granting import SYSTEM, move_request, owe_when_ready
from audit.append import Actor
from kernel.clock import ClockTimestamp
from tenants.verbs import Verb


def end_request(
    verb: Verb,
    request: Request,
    to: Request.State,
    now: datetime,
    reason: str,
    *,
    actor: Actor = SYSTEM,
) -> None:
    """Close the question; the agent is woken once its pause lets it."""
    move_request(request, to, decided_at=now, due_at=None, resolution=reason.strip())
    verb.record(
        f"request.{to.value}",
        actor=actor,
        subject=("request", request.id),
        data={"run": str(request.run_id), "revision": request.revision},
    )
    owe_when_ready(verb, request.pause_id, now)
    verb.changed(request.id, request.run_id, request.queue_id)


def expire(verb: Verb, request: Request, now: datetime) -> None:
    """Nobody decided in time, which never approves."""
    end_request(
        verb, request, Request.State.EXPIRED, now, "Nobody decided before the deadline."
    )


def dismiss_decisions(verb: Verb, revision: Revision, reason: str) -> None:
    """Earlier answers to this wording stay on record and count no more."""
    rows = Decision.objects.filter(revision_id=revision.id, dismissed_at=None)
    ids = list(rows.values_list("id", flat=True))
    rows.update(dismissed_at=ClockTimestamp(), dismissed_reason=reason)
    for decision in ids:
        verb.record(
            "decision.dismissed",
            actor=SYSTEM,
            subject=("decision", decision),
            data={"request": str(revision.request_id), "reason": reason},
        )
