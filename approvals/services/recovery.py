"""After the database was set back to an earlier state: stop, look, and go on.

What happened since the backup is not in it. A grant that looks live may have been used,
and a question that looks open may have been answered and acted on. So nothing acts
until an operator ends the recovery; and then every approval that was not used is void,
also what was agreed to beforehand, and a person looks at each run that had not ended.
"""

from dataclasses import asdict, dataclass
from typing import Final
from uuid import UUID

import structlog

from approvals.checks import check_recovery
from approvals.models import Grant, Pause, Request
from approvals.queries import current_revision, live_grant, lock_pause, lock_requests
from approvals.services.ending import dismiss_decisions, end_request
from approvals.services.granting import SYSTEM, end_grant, end_jobs
from approvals.services.refusing import need_attention
from approvals.services.standing import void_standing
from audit.anchors import anchor_recovered
from audit.append import Actor
from checkpoints.effects import record_outcome, settle_effect
from checkpoints.models import Attempt, Effect
from kernel.clock import ClockTimestamp, database_now
from kernel.problems import declare
from kernel.scope import tenant_transaction
from sessions.models import Run
from sessions.runs import ENDED, lock_run, move_run
from tenants.checks import Acting, permitted
from tenants.models import Tenant
from tenants.verbs import Gate, Verb, perform

NOT_RECOVERING: Final = declare(
    "not_recovering", status=409, title="This tenant is not in recovery"
)

A_TRANSACTION: Final = 50  # runs; a transaction may last some seconds only
REASON: Final = "The database was set back to an earlier state."
DOUBTED: Final = (Effect.State.STARTED, Effect.State.UNKNOWN)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ended:
    """What the end of a recovery came to."""

    runs: int = 0  # that a person must look at now
    grants: int = 0  # that were revoked
    effects: int = 0  # whose outcome a person must find out
    standing: int = 0  # standing approvals that were revoked

    def __add__(self, more: "Ended") -> "Ended":
        return Ended(
            runs=self.runs + more.runs,
            grants=self.grants + more.grants,
            effects=self.effects + more.effects,
            standing=self.standing + more.standing,
        )


def begin_recovery(tenant_id: UUID) -> bool:
    """Let nothing act in the tenant from now on; whether that is new."""

    def work(verb: Verb) -> bool:
        calm = Tenant.objects.filter(id=tenant_id, recovering_since=None)
        if not calm.update(recovering_since=ClockTimestamp()):
            return False
        verb.record("recovery.began", actor=SYSTEM, subject=("tenant", tenant_id))
        return True

    began = perform(tenant_id, work, gate=Gate.EXCLUSIVE)
    if began:
        log.error("recovery_began", tenant=str(tenant_id))
    return began


def end_recovery(*, tenant_id: UUID, by: Acting, reason: str) -> Ended:
    """Void what was approved and not used, hand every live run to a person, and go on.

    In many small transactions: if it is interrupted, the tenant stays in recovery, and
    calling it again does the rest. Raises `not_recovering` (409).
    """
    with tenant_transaction(tenant_id):
        permitted(tenant_id, by)
    _require_recovery(tenant_id)
    begin_recovery(tenant_id)
    ended = Ended()
    while (more := perform(tenant_id, _stop_some)).runs:
        ended += more

    def last(verb: Verb) -> tuple[Ended, bool]:
        return _end(verb, permitted(tenant_id, by), reason, ended)

    over = False
    while not over:
        ended, over = perform(tenant_id, last, gate=Gate.EXCLUSIVE)
    anchor_recovered(tenant_id)
    return ended


def _require_recovery(tenant_id: UUID) -> None:
    with tenant_transaction(tenant_id):
        tenant = Tenant.objects.filter(id=tenant_id).first()
        if tenant is None or check_recovery(tenant) is None:
            raise NOT_RECOVERING("Actions are not held back here.")


def _end(verb: Verb, actor: Actor, reason: str, ended: Ended) -> tuple[Ended, bool]:
    """Go on, once no standing approval is left that was live; whether that is now.

    The backup has forgotten uses and revocations, so that what it left of one could be
    used once more. Whoever agreed may agree again, after a look at what happened.
    """
    voided, more = void_standing(verb, SYSTEM, REASON)
    ended += Ended(standing=voided)
    if more:
        return ended, False
    Tenant.objects.filter(id=verb.tenant_id).update(recovering_since=None)
    verb.record(
        "recovery.ended",
        actor=actor,
        subject=("tenant", verb.tenant_id),
        data={"reason": reason, **asdict(ended)},
    )
    return ended, True


def _stop_some(verb: Verb) -> Ended:
    """Hand the next few live runs to a person."""
    live = Run.objects.exclude(state__in=[*ENDED, Run.State.NEEDS_ATTENTION])
    some = list(live.order_by("id").values_list("id", flat=True)[:A_TRANSACTION])
    return sum((_stop(verb, lock_run(run_id)) for run_id in some), Ended())


def _stop(verb: Verb, run: Run) -> Ended:
    pause = Pause.objects.filter(run=run, closed_at=None).first()
    requests = []
    if pause is not None:
        lock_pause(pause.id)
        requests = lock_requests(pause.id)
    grants = sum(_void(verb, request) for request in requests)
    doubted = Effect.objects.filter(run=run, state__in=DOUBTED)
    effects = sum(_doubt(verb, effect) for effect in doubted)
    if run.state == Run.State.RUNNING:
        move_run(verb, run, Run.State.NEEDS_ATTENTION, actor=SYSTEM, reason=REASON)
    need_attention(verb, run, REASON)
    return Ended(runs=1, grants=grants, effects=effects)


def _void(verb: Verb, request: Request) -> int:
    """Revoke the request's live grant; how many that were."""
    grant = live_grant(request.id)
    if grant is None:
        return 0
    end_grant(verb, grant, Grant.State.REVOKED, actor=SYSTEM, reason=REASON)
    end_jobs(request, "recovery")
    dismiss_decisions(verb, current_revision(request), REASON)
    end_request(verb, request, Request.State.REVOKED, database_now(), REASON)
    return 1


def _doubt(verb: Verb, effect: Effect) -> int:
    """It may have ended after the backup was taken: nobody here can tell."""
    if effect.state == Effect.State.STARTED:
        attempt = Attempt.objects.get(effect=effect, number=effect.attempt)
        record_outcome(
            verb,
            effect.id,
            attempt=attempt.number,
            fence=attempt.fence,
            outcome=Effect.State.UNKNOWN,
            evidence={"why": REASON},
            actor=SYSTEM,
        )
    settle_effect(
        verb,
        effect.id,
        outcome=Effect.State.NEEDS_ATTENTION,
        evidence={"why": REASON},
        actor=SYSTEM,
    )
    return 1
