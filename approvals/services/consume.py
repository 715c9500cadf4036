"""Consuming a grant: four checks, then the one effect, in one transaction.

Shared by both doors to an action: the worker that carries out managed tools, and the
agent that redeems.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import F

from approvals.beforehand import USED
from approvals.checks import Matter, Verification, verify
from approvals.envelope import Action, Envelope
from approvals.models import Grant, Request, StandingApproval, VerificationReport
from approvals.services.gather import gather
from approvals.services.granting import SYSTEM, move_request
from approvals.services.refusing import follow_refusal, store_report
from audit.append import Actor
from checkpoints.effects import start_effect
from checkpoints.models import Attempt, Effect, Tool
from kernel.clock import ClockTimestamp, database_now
from kernel.outcome import Refused
from kernel.update import update_exactly_one
from sessions.models import Run
from sessions.runs import move_run, release_lease, take_lease
from tenants.verbs import Verb

# A consumed action must start within this, or not at all under this attempt.
SEND_WITHIN: Final = timedelta(seconds=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who will write the run from now on, and for how many seconds at most."""

    holder: UUID
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The action may happen now, exactly so, before `attempt.send_before`."""

    effect: Effect
    attempt: Attempt
    tool: Tool
    envelope: Envelope
    fence: int
    consumed_at: datetime
    report: VerificationReport

    @property
    def action(self) -> Action:
        """As it was approved."""
        return self.envelope.action


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """The action may not happen; the report says why and what was done about it."""

    refused: Refused
    report: VerificationReport


def consume(
    verb: Verb,
    request: Request,
    run: Run,
    *,
    door: str,
    writer: Writer | None = None,
    actor: Actor = SYSTEM,
    within: timedelta = SEND_WITHIN,
) -> Started | Declined:
    """On locked rows: verify, and start the effect or follow the refusal.

    A `writer` takes the run over once all checks have passed; without one the caller
    has proved to be the run's writer already.
    """
    matter = gather(request, run, database_now())
    verification = verify(matter)
    if verification.refused is not None:
        return decline(verb, matter, verification, door=door)
    report = store_report(verb, matter, verification, door=door)
    if writer is not None:
        _take_over(verb, run, writer)
    return _start(verb, matter, report, actor, within)


def _take_over(verb: Verb, run: Run, writer: Writer) -> None:
    """A paused run is nobody's to write but ours: its agent waits for us."""
    if run.state == Run.State.PAUSED:
        release_lease(run)
    take_lease(verb, run, holder=writer.holder, seconds=writer.seconds, actor=SYSTEM)


def decline(
    verb: Verb, matter: Matter, verification: Verification, *, door: str
) -> Declined:
    """Store the refusal and do what its class says."""
    assert verification.refused is not None
    report = store_report(verb, matter, verification, door=door)
    follow_refusal(verb, matter, verification.refused)
    return Declined(refused=verification.refused, report=report)


def _start(
    verb: Verb,
    matter: Matter,
    report: VerificationReport,
    actor: Actor,
    within: timedelta,
) -> Started:
    grant, request, run = matter.grant, matter.request, matter.run
    assert grant is not None
    _use_up(verb, grant, actor)
    move_request(request, Request.State.CONSUMED)
    if matter.standing is not None:
        _count_use(verb, matter.standing, request)
    if run.state != Run.State.RESUMING:
        move_run(verb, run, Run.State.RESUMING, actor=actor)
    effect, attempt = start_effect(
        verb,
        run=run,
        tool=matter.tool,
        request_id=request.id,
        grant_id=grant.id,
        key=matter.envelope.effect_key(),
        action=matter.envelope.sealed_action(),
        fence=run.fence,
        send_before=min(matter.now + within, grant.expires_at),
        actor=actor,
    )
    return Started(
        effect=effect,
        attempt=attempt,
        tool=matter.tool,
        envelope=matter.envelope,
        fence=run.fence,
        consumed_at=matter.now,
        report=report,
    )


def _use_up(verb: Verb, grant: Grant, actor: Actor) -> None:
    """Single use: of all who try, one finds it live."""
    update_exactly_one(
        Grant.objects.filter(
            id=grant.id, state=Grant.State.LIVE, expires_at__gt=ClockTimestamp()
        ),
        state=Grant.State.CONSUMED,
        due_at=None,
        ended_at=ClockTimestamp(),
    )
    verb.record(
        "grant.consumed",
        actor=actor,
        subject=("grant", grant.id),
        data={"request": str(grant.request_id), "digest": bytes(grant.digest).hex()},
    )


def _count_use(verb: Verb, one: StandingApproval, request: Request) -> None:
    """One use of the standing approval: of two who take the last one, one finds it."""
    update_exactly_one(
        StandingApproval.objects.filter(
            id=one.id,
            used=one.used,
            used__lt=F("uses"),
            revoked_at=None,
            expires_at__gt=ClockTimestamp(),
        ),
        used=F("used") + 1,
    )
    verb.record(
        USED,
        actor=SYSTEM,
        subject=("standing", one.id),
        data={"request": str(request.id), "use": one.used + 1, "uses": one.uses},
    )
