"""Where an approval has come to, in one word."""

from typing import Final

from approvals.models import Request, ResumeJob, VerificationReport
from approvals.pages.case.record import CaseRecord

S = Request.State
BEYOND: Final = (S.APPROVED, S.CONSUMED)
OUTCOMES: Final = {
    "started": "acting",
    "intended": "acting",
    "confirmed": "confirmed",
    "failed": "failed",
    "absent": "failed",
    "unknown": "unknown",
    "needs_attention": "needs_attention",
}


def state_of(record: CaseRecord) -> str | None:
    """queued, verifying, acting, confirmed, failed, refused, unknown, needs_attention.

    None where there is no approval to speak of.
    """
    if record.request.state in BEYOND:
        if record.effect is not None and record.effect.grant == _grant_id(record):
            return _of_effect(record, record.effect.state)
        return _before_effect(record)
    return "refused" if refusal(record) else None


def _of_effect(record: CaseRecord, state: str) -> str:
    """What is unknown is found out by itself, unless only a person can."""
    stuck = record.request.run.state == "needs_attention"
    return "needs_attention" if stuck and state == "unknown" else OUTCOMES[state]


def refusal(record: CaseRecord) -> VerificationReport | None:
    """The refusal that ended the approval or re-opened the request, while that is new.

    It is old once anybody has worded the request anew since.
    """
    report = record.report
    if report is None or report.passed or report.door == "wake":
        return None
    if report.refusal == "wait":
        return None
    newer = report.revision_id != record.revision.id
    if newer and not _was_reopened(record):
        return None
    return report


def _was_reopened(record: CaseRecord) -> bool:
    """Whether the current wording is the very one that the refusal made."""
    report = record.report
    before = [
        one.number
        for one in record.revisions
        if report and one.id == report.revision_id
    ]
    return (
        record.revision.author_type == "system"
        and before == [record.revision.number - 1]
        and not record.counted
    )


def is_ready(record: CaseRecord) -> bool:
    """Verified, and waiting for its agent to redeem."""
    job = job_of(record)
    return job is not None and job.code == "ready" and job.state == ResumeJob.State.DONE


def job_of(record: CaseRecord) -> ResumeJob | None:
    """The job of the newest grant."""
    grant = _grant_id(record)
    jobs = [one for one in record.jobs if grant is not None and one.grant_id == grant]
    return jobs[-1] if jobs else None


def _before_effect(record: CaseRecord) -> str:
    job = job_of(record)
    if job is None:
        return "queued"
    if is_ready(record):
        return "acting"
    states = {
        ResumeJob.State.DEAD: "needs_attention",
        ResumeJob.State.CLAIMED: "verifying",
    }
    return states.get(ResumeJob.State(job.state), "queued")


def _grant_id(record: CaseRecord) -> object:
    return record.grant.id if record.grant else None
