"""One resume job from claim to end."""

from uuid import UUID

import structlog

from approvals.models import ResumeJob
from approvals.resume.act import act
from approvals.resume.barriers import ACK, CLAIM, reach
from approvals.resume.job import Claimed, claim
from approvals.resume.keeping import kept
from approvals.resume.wake import wake
from kernel.problems import Problem
from kernel.update import LostRace

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
        return act(claimed) if claimed.kind == ResumeJob.Kind.ACT else wake(claimed)
    except LostRace:
        return "taken_over"
    except Problem as problem:
        return problem.code
