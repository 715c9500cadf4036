"""A run that ends while it asks takes its questions back."""

from approvals.models import Grant, Pause, Request
from approvals.problems import EFFECT_IN_FLIGHT
from approvals.queries import live_grant, lock_requests
from approvals.services.ending import end_request
from approvals.services.granting import SYSTEM, end_grant, end_jobs
from approvals.states import OPEN
from checkpoints.checks import effects_settled
from kernel.clock import ClockTimestamp, database_now
from kernel.outcome import Refused
from sessions.models import Run
from tenants.verbs import Verb


def close_questions(verb: Verb, run: Run) -> None:
    """Cancel what is open and revoke what is approved, on a locked run.

    Raises `effect_in_flight` (409) while the outcome of an action is not known.
    """
    settled = effects_settled(run)
    if isinstance(settled, Refused):
        raise EFFECT_IN_FLIGHT(settled.reason)
    pause = (
        Pause.objects.select_for_update(no_key=True)
        .filter(run=run, closed_at=None)
        .first()
    )
    if pause is None:
        return
    Pause.objects.filter(id=pause.id).update(closed_at=ClockTimestamp())
    for request in lock_requests(pause.id):
        if request.state in OPEN | {Request.State.APPROVED}:
            _cancel(verb, request)
        end_jobs(request, "run_ended")


def _cancel(verb: Verb, request: Request) -> None:
    reason = "Its run has ended."
    grant = live_grant(request.id)
    if grant is not None:
        end_grant(verb, grant, Grant.State.REVOKED, actor=SYSTEM, reason=reason)
    end_request(verb, request, Request.State.CANCELLED, database_now(), reason)
