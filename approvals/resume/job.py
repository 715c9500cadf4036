"""Claiming a job, and saying what became of it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import uniform
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import F, Q, QuerySet

from approvals.models import ResumeJob
from approvals.services.refusing import need_attention
from kernel.clock import ClockTimestamp, database_now
from kernel.ids import new_id
from kernel.update import LostRace, update_exactly_one
from sessions.models import Run
from sessions.runs import release_lease
from tenants.verbs import Gate, Verb, perform

State = ResumeJob.State
MOST_ATTEMPTS: Final = 60
LONGEST_PAUSE: Final = 60  # seconds between tries
SHORTEST_WAIT: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A job that this worker, and for now no other, may work on."""

    tenant_id: UUID
    job_id: UUID
    request_id: UUID
    run_id: UUID
    grant_id: UUID | None
    kind: str
    claim: UUID
    attempts: int


def claim_lasts() -> timedelta:
    """How long a worker that says nothing keeps its job."""
    return timedelta(seconds=settings.CLAIM_SECONDS)


def tenant_of(job_id: UUID) -> UUID | None:
    """Whose job it is. Messages carry ids only."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT keyturn_job_tenant(%s)", [job_id])
        tenant: UUID | None = cursor.fetchone()[0]
        return tenant


def claim(job_id: UUID) -> Claimed | None:
    """Take the job if it is due; a message delivered ten times claims once."""
    tenant_id = tenant_of(job_id)
    if tenant_id is None:
        return None
    return perform(tenant_id, lambda verb: _claim(verb, job_id), gate=Gate.NONE)


def _claim(verb: Verb, job_id: UUID) -> Claimed | None:
    mine = new_id()
    due = Q(due_at__lte=ClockTimestamp()) & ~Q(state__in=[State.DONE, State.DEAD])
    taken = ResumeJob.objects.filter(due, id=job_id).update(
        state=State.CLAIMED,
        claim=mine,
        attempts=F("attempts") + 1,
        due_at=database_now() + claim_lasts(),
    )
    if not taken:
        return None
    job = ResumeJob.objects.select_related("request").get(id=job_id)
    return Claimed(
        tenant_id=verb.tenant_id,
        job_id=job.id,
        request_id=job.request_id,
        run_id=job.request.run_id,
        grant_id=job.grant_id,
        kind=job.kind,
        claim=mine,
        attempts=job.attempts,
    )


def hold(claimed: Claimed) -> ResumeJob:
    """Lock the job, still ours. Raises `LostRace` if somebody else took it over."""
    rows = ResumeJob.objects.select_for_update(no_key=True)
    job = rows.filter(
        id=claimed.job_id, claim=claimed.claim, state=State.CLAIMED
    ).first()
    if job is None:
        raise LostRace("This job is not ours any more.")
    return job


def extend(claimed: Claimed) -> bool:
    """Keep the job for as long again from now; whether it is still ours."""
    return bool(_mine(claimed).update(due_at=database_now() + claim_lasts()))


def finish(claimed: Claimed, run: Run, code: str) -> None:
    """The job is done, and the run nobody's. Raises `LostRace` if it is not ours."""
    if run.lease_holder == claimed.claim:
        release_lease(run)
    update_exactly_one(
        _mine(claimed),
        state=State.DONE,
        code=code,
        due_at=None,
        ended_at=ClockTimestamp(),
    )


def retry(
    verb: Verb, claimed: Claimed, run: Run, code: str, *, by: datetime | None = None
) -> None:
    """Look again later; when that has been enough, a person must look instead.

    At the latest at `by`, if something is known to be decided then.
    """
    job = _mine(claimed).first()
    if job is None:
        return
    if job.attempts >= MOST_ATTEMPTS:
        give_up(verb, claimed, run, code)
        return
    due_at = database_now() + _pause(job.attempts)
    if by is not None:
        due_at = min(due_at, by)
    _mine(claimed).update(state=State.RETRY, code=code, due_at=due_at)


def wait(claimed: Claimed, code: str) -> None:
    """Nothing is wrong, it is only too early: look again, for as long as it takes.

    A person may take days. What must not wait for ever has an expiry of its own.
    """
    job = _mine(claimed).first()
    if job is None:
        return
    now = database_now()
    pause = min(
        max(now - job.created_at, SHORTEST_WAIT), timedelta(seconds=LONGEST_PAUSE)
    )
    _mine(claimed).update(
        state=State.RETRY, code=code, due_at=now + pause, attempts=F("attempts") - 1
    )


def give_up(verb: Verb, claimed: Claimed, run: Run, code: str) -> None:
    """The job is dead, and its run a person's to look at."""
    update_exactly_one(
        _mine(claimed),
        state=State.DEAD,
        code=code,
        due_at=None,
        ended_at=ClockTimestamp(),
    )
    need_attention(verb, run, f"Given up after {claimed.attempts} tries: {code}.")


def _pause(attempts: int) -> timedelta:
    """Twice as long each time, and not all at the same moment."""
    longest = min(2.0 ** min(attempts - 1, 10), LONGEST_PAUSE)
    return timedelta(seconds=uniform(0.75, 1.0) * longest)  # noqa: S311 - no secret


def _mine(claimed: Claimed) -> QuerySet[ResumeJob]:
    return ResumeJob.objects.filter(
        id=claimed.job_id, claim=claimed.claim, state=State.CLAIMED
    )
