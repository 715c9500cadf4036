"""Is the run still where it was when the question was asked?"""

from approvals.checks.matter import Matter
from checkpoints.checks import verify_position
from kernel.outcome import Outcome, Refused
from sessions.models import Run


def check_position(matter: Matter) -> Outcome:
    """The run waits, nobody else writes it, and its head is the pause's checkpoint."""
    return _waiting(matter) or verify_position(
        matter.run,
        number=matter.envelope.record["checkpoint"]["number"],
        digest=bytes.fromhex(matter.envelope.record["checkpoint"]["digest"]),
        closers=frozenset(matter.sibling_ids),
    )


def _waiting(matter: Matter) -> Refused | None:
    run = matter.run
    if matter.pause.closed_at is not None:
        return Refused("position.pause_closed", "The run has moved on.", "stop")
    if run.state == Run.State.PAUSED:
        return None
    if run.state == Run.State.NEEDS_ATTENTION:
        return Refused(
            "position.needs_attention", "A person must look at this run first.", "wait"
        )
    if run.state == Run.State.RESUMING:
        if run.due_at is None or run.due_at <= matter.now:
            return None
        return Refused(
            "position.lease_held", "Another writer is resuming this run.", "wait"
        )
    return Refused("position.run_ended", f"The run is {run.state}.", "stop")
