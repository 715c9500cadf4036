"""What workers and the beat run. Tasks carry ids; everything else is read live."""

from uuid import UUID

from celery import shared_task

from approvals.publishing import RESUME_TASK
from approvals.resume.anchoring import anchor_or_stop
from approvals.resume.sweep import sweep
from approvals.resume.work import work


@shared_task(  # type: ignore[untyped-decorator]
    name=RESUME_TASK, ignore_result=True
)
def resume(job_id: str) -> None:
    """Work on one resume job, if it is due."""
    work(UUID(job_id))


@shared_task(  # type: ignore[untyped-decorator]
    name="approvals.sweep", ignore_result=True
)
def sweep_due() -> None:
    """Find what is due and nobody is working on. Safe to run twice at once."""
    sweep()


@shared_task(  # type: ignore[untyped-decorator]
    name="approvals.anchor", ignore_result=True
)
def anchor_heads() -> None:
    """Write the heads of the audit chains to their separate sink."""
    anchor_or_stop()
