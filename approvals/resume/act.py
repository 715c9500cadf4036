"""Acting on an approval: verify and consume, then send, then record the outcome.

The transaction ends before the tool is called. Between the two a worker may die, so
the effect is recorded as started first, and a later claim of the job finds it.
"""

import time
from datetime import timedelta
from typing import Final

from approvals.checks import verify
from approvals.envelope import Envelope
from approvals.models import Request
from approvals.problems import PAUSE_UNDECIDED
from approvals.queries import current_revision
from approvals.resume.barriers import CONSUME, INTENT, RESTORE, reach
from approvals.resume.job import Claimed, finish, hold, wait
from approvals.resume.recover import recover
from approvals.resume.send import Sending, send_and_settle
from approvals.services.closing import go_on
from approvals.services.consume import Declined, Started, Writer, consume, decline
from approvals.services.gather import gather
from approvals.services.granting import waits_for_others
from approvals.services.refusing import store_report
from approvals.services.scene import lock_scene_of
from checkpoints.models import Effect, Tool
from kernel.clock import database_now
from sessions.models import Run
from sessions.runs import lock_run
from tenants.verbs import Verb, perform

LEASE: Final = 60  # seconds


def act(claimed: Claimed) -> str:
    """Bring the approved action about, once. Returns the outcome's code."""
    began = time.monotonic()
    step = perform(claimed.tenant_id, lambda verb: _verify(verb, claimed))
    if isinstance(step, Started):
        reach(INTENT)
        return send_and_settle(claimed, _sending(step, began))
    if isinstance(step, Effect):
        return recover(claimed, step)
    return step


def _verify(verb: Verb, claimed: Claimed) -> Started | Effect | str:
    """In one transaction: what to send now, what was sent before, or a code."""
    request = lock_scene_of(claimed.request_id)
    run = lock_run(claimed.run_id)
    hold(claimed)
    reach(RESTORE)
    started = Effect.objects.filter(request=claimed.request_id).last()
    if started is not None and started.grant == claimed.grant_id:
        return started if _is_ours(request) else _redeemed(verb, claimed, run, request)
    if request.state != Request.State.APPROVED:
        finish(claimed, run, request.state)
        return str(request.state)
    if waits_for_others(request.pause_id):
        # One of them is asked again since this job was owed.
        wait(claimed, PAUSE_UNDECIDED.code)
        return PAUSE_UNDECIDED.code
    if Tool.objects.get(id=request.tool_id).mode == Tool.Mode.AGENT:
        return _say_ready(verb, claimed, request, run)
    writer = Writer(holder=claimed.claim, seconds=LEASE)
    outcome = consume(verb, request, run, door="act", writer=writer)
    if isinstance(outcome, Declined):
        return _after_decline(claimed, outcome)
    reach(CONSUME)
    return outcome


def _is_ours(request: Request) -> bool:
    """As it was approved: the tool may have got another mode since."""
    envelope = Envelope(bytes(current_revision(request).envelope))
    return bool(envelope.record["tool"]["mode"] == Tool.Mode.MANAGED)


def _redeemed(verb: Verb, claimed: Claimed, run: Run, request: Request) -> str:
    """The agent did not wait for our word; what came of it is for it to report."""
    finish(claimed, run, "redeemed")
    go_on(verb, run, request.pause_id)
    return "redeemed"


def _say_ready(verb: Verb, claimed: Claimed, request: Request, run: Run) -> str:
    """An agent tool is only verified here; the agent consumes when it redeems."""
    matter = gather(request, run, database_now())
    verification = verify(matter)
    if verification.refused is not None:
        declined = decline(verb, matter, verification, door="ready")
        return _after_decline(claimed, declined)
    store_report(verb, matter, verification, door="ready")
    finish(claimed, run, "ready")
    return "ready"


def _after_decline(claimed: Claimed, declined: Declined) -> str:
    """Waiting keeps the job; the other classes have ended it already."""
    if declined.refused.klass == "wait":
        wait(claimed, declined.refused.code)
    return declined.refused.code


def _sending(started: Started, began: float) -> Sending:
    """What to send, and until when by this process's monotonic clock.

    `began` was read before the database said what time it is, so the deadline can
    only be earlier than the database's.
    """
    left: timedelta = started.attempt.send_before - started.consumed_at
    return Sending(
        effect_id=started.effect.id,
        key=bytes(started.effect.key),
        attempt=started.attempt.number,
        fence=started.fence,
        tool=started.tool,
        arguments=started.action.arguments,
        not_after=started.attempt.send_before,
        deadline=began + left.total_seconds(),
    )
