"""One resume job from claim to end."""

from uuid import UUID

import structlog

from approvals.models import ResumeJob
from approvals.resume.act import act
from approvals.resume.barriers import ACK, CLAIM, reach
from approvals.resume.job import MOST_ATTEMPTS, Claimed, claim, give_up, hold
from approvals.resume.keeping import kept
from approvals.resume.wake import wake
from kernel.problems import Problem
from kernel.update import LostRace
from sessions.runs import lock_run
from tenants.verbs import Verb, perform

log = structlog.get_logger(__name__)


def work(job_id: UUID) -> str:
    """Carry out the job if it is due; returns what it came to, for the log.

    Whatever interrupts this, the claim lapses and a sweep offers the job again.
    """
    claimed = claim(job_id)
    if claimed is None:
        return "not_due"
    with kept(claimed):
        outcome = _carry_out(claimed)
    log.info("resume_job", job=str(job_id), kind=claimed.kind, outcome=outcome)
    reach(ACK)
    return outcome


def _carry_out(claimed: Claimed) -> str:
    reach(CLAIM)
    try:
        return _bring_about(claimed)
    except LostRace:
        return "taken_over"
    except Problem as problem:
        return problem.code


def _bring_about(claimed: Claimed) -> str:
    if claimed.attempts > MOST_ATTEMPTS:
        return perform(claimed.tenant_id, lambda verb: _give_up(verb, claimed))
    return act(claimed) if claimed.kind == ResumeJob.Kind.ACT else wake(claimed)


def _give_up(verb: Verb, claimed: Claimed) -> str:
    """It was claimed again and again, and never came as far as an outcome."""
    run = lock_run(claimed.run_id)
    hold(claimed)
    give_up(verb, claimed, run, "interrupted")
    return "given_up"
