"""From satisfied rules to a grant and the work it owes. Steps inside a verb."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import F

from approvals.envelope import Envelope
from approvals.models import Grant, Pause, Request, ResumeJob, Revision
from approvals.policy import Obligation
from approvals.publishing import publish
from approvals.states import check_move
from audit.append import Actor
from kernel.clock import ClockTimestamp
from kernel.ids import new_id
from kernel.update import update_exactly_one
from tenants.verbs import Verb

SYSTEM: Final = Actor(type="system", id="keyturn")
UNDECIDED: Final = (Request.State.PENDING, Request.State.CHANGES_REQUESTED)


def grant(
    verb: Verb, request: Request, revision: Revision, envelope: Envelope, now: datetime
) -> Grant:
    """The revision is satisfied: the request is approved, under one live grant.

    What it owes is left to `owe_when_ready`, once all that is to be asked or decided
    in this verb is.
    """
    move_request(request, Request.State.APPROVED, decided_at=now, due_at=None)
    made = _issue(request, revision, envelope.obligation, now)
    verb.record(
        "grant.issued",
        actor=SYSTEM,
        subject=("grant", made.id),
        data={
            "request": str(request.id),
            "revision": revision.number,
            "digest": bytes(revision.digest).hex(),
            "expires_at": made.expires_at.isoformat(),
        },
    )
    verb.changed(request.id, request.run_id)
    return made


def _issue(
    request: Request, revision: Revision, obligation: Obligation, now: datetime
) -> Grant:
    not_before = now + timedelta(seconds=obligation.wait)
    expires_at = not_before + timedelta(seconds=obligation.use_within)
    return Grant.objects.create(
        tenant_id=request.tenant_id,
        request=request,
        revision=revision,
        digest=bytes(revision.digest),
        not_before=not_before,
        expires_at=expires_at,
        due_at=expires_at,
    )


def move_request(request: Request, to: Request.State, **values: object) -> None:
    """Change a locked request's state, from the state it was read in.

    Raises `LostRace` when it is no longer in that state or revision, and
    `IllegalMove` for a change that the state machine does not have.
    """
    check_move(request.state, to)
    rows = Request.objects.filter(
        id=request.id, state=request.state, revision=request.revision
    )
    update_exactly_one(rows, state=to, **values)
    request.state = to
    for name, value in values.items():
        setattr(request, name, value)


def owe_when_ready(verb: Verb, pause_id: UUID, now: datetime) -> None:
    """Write the jobs that resolved requests owe, once the pause lets them run.

    With `all`, nothing runs until every request of the pause is decided; so that
    whichever decision comes last owes the jobs of all.
    """
    rows = Request.objects.filter(pause_id=pause_id).order_by("id")
    asked = list(rows.annotate(resume_when=F("pause__resume_when")))
    decided = [one for one in asked if one.state not in UNDECIDED]
    all_of_them = any(one.resume_when == Pause.Until.ALL for one in asked)
    if all_of_them and len(decided) < len(asked):
        return
    for one in decided:
        _owe(verb, one, now)


def waits_for_others(pause_id: UUID) -> bool:
    """Whether the pause lets nothing run yet, because some of it is undecided."""
    undecided = Request.objects.filter(pause_id=pause_id, state__in=UNDECIDED)
    return undecided.filter(pause__resume_when=Pause.Until.ALL).exists()


def _owe(verb: Verb, request: Request, now: datetime) -> None:
    """One open job a request: to act under its grant, or to wake the agent."""
    live = Grant.objects.filter(request=request, state=Grant.State.LIVE).first()
    known = ResumeJob.objects.filter(request=request, grant=live)
    if known.exclude(state=ResumeJob.State.DEAD).exists():
        return
    if request.state == Request.State.CONSUMED:
        return
    due_at = max(now, live.not_before) if live else now
    job = ResumeJob.objects.create(
        id=new_id(),
        tenant_id=request.tenant_id,
        request=request,
        grant=live,
        kind=ResumeJob.Kind.ACT if live else ResumeJob.Kind.WAKE,
        due_at=due_at,
    )
    if due_at <= now:
        verb.after_commit(lambda: publish(job.id))


def end_grant(
    verb: Verb, grant: Grant, to: Grant.State, *, actor: Actor, reason: str
) -> None:
    """Revoke or let lapse a live grant. Raises `LostRace` if it is not live."""
    update_exactly_one(
        Grant.objects.filter(id=grant.id, state=Grant.State.LIVE),
        state=to,
        reason=reason,
        due_at=None,
        ended_at=ClockTimestamp(),
    )
    verb.record(
        f"grant.{to.value}",
        actor=actor,
        subject=("grant", grant.id),
        data={"request": str(grant.request_id), "reason": reason},
    )


def end_jobs(request: Request, code: str) -> None:
    """Jobs that a resolved request no longer owes."""
    ResumeJob.objects.filter(request=request, due_at__isnull=False).update(
        state=ResumeJob.State.DONE, code=code, due_at=None, ended_at=ClockTimestamp()
    )
