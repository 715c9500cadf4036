"""One resume job from claim to end."""

from uuid import UUID

import structlog

from approvals.models import ResumeJob
from approvals.resume.act import act
from approvals.resume.job import claim
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
    try:
        outcome = act(claimed) if claimed.kind == ResumeJob.Kind.ACT else wake(claimed)
    except LostRace:
        outcome = "taken_over"
    except Problem as problem:
        outcome = problem.code
    log.info("resume_job", job=str(job_id), kind=claimed.kind, outcome=outcome)
    return outcome
