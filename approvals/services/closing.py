"""Ending a pause: once every question is answered and every action has an outcome."""

from uuid import UUID

from approvals.models import Pause, Request, ResumeJob
from approvals.services.granting import SYSTEM, UNDECIDED
from approvals.services.refusing import need_attention
from checkpoints.checkpoint import CHECKPOINT_CORRUPTED
from checkpoints.checkpoint import close_step as add_closing_checkpoint
from checkpoints.checks import effects_settled
from checkpoints.models import Effect
from kernel.clock import ClockTimestamp
from kernel.outcome import Refused
from kernel.problems import Problem
from kernel.update import update_exactly_one
from sessions.models import Run
from sessions.runs import move_run
from tenants.verbs import Verb

ENDED = (Effect.State.CONFIRMED, Effect.State.FAILED, Effect.State.ABSENT)


def close_step(verb: Verb, run: Run, effect: Effect) -> None:
    """The action has its outcome: a closing checkpoint, and perhaps the run goes on.

    The checkpoint keeps its parent's payload, which is the agent's own and opaque; the
    outcome is in its header, under the request. A damaged head is never sealed anew:
    then the outcome stands with the effect alone, and a person must look at the run.
    """
    request = Request.objects.get(id=effect.request)
    marker = {
        "tool_call_id": request.tool_call_id,
        "effect": str(effect.id),
        "state": effect.state,
        "external_id": effect.external_id,
    }
    verb.changed(request.id, run.id)
    try:
        add_closing_checkpoint(
            verb,
            run,
            closes=(request.id,),
            markers={str(request.id): marker},
            actor=SYSTEM,
        )
    except Problem as flaw:  # raised before anything was written
        if flaw.code != CHECKPOINT_CORRUPTED.code:
            raise
        need_attention(verb, run, flaw.title)
    else:
        go_on(verb, run, request.pause_id)


def go_on(verb: Verb, run: Run, pause_id: UUID) -> None:
    """Close the pause if nothing of it is open; else wait for the rest of it."""
    if not _is_finished(pause_id):
        _wait_for_the_rest(verb, run)
        return
    update_exactly_one(
        Pause.objects.filter(id=pause_id, closed_at=None), closed_at=ClockTimestamp()
    )
    if run.state == Run.State.NEEDS_ATTENTION:
        move_run(verb, run, Run.State.RESUMING, actor=SYSTEM, reason="Resolved.")
    move_run(verb, run, Run.State.RUNNING, actor=SYSTEM, reason="Answered.")


def _wait_for_the_rest(verb: Verb, run: Run) -> None:
    """What is open is looked at again, and may need a person's attention once more."""
    if isinstance(effects_settled(run), Refused):
        return
    if run.state == Run.State.NEEDS_ATTENTION:
        move_run(verb, run, Run.State.RESUMING, actor=SYSTEM, reason="Resolved.")
    if run.state == Run.State.RESUMING:
        move_run(verb, run, Run.State.PAUSED, actor=SYSTEM, reason="Others wait.")


def _is_finished(pause_id: UUID) -> bool:
    requests = Request.objects.filter(pause_id=pause_id)
    if requests.filter(state__in=[*UNDECIDED, Request.State.APPROVED]).exists():
        return False
    if ResumeJob.objects.filter(request__in=requests, due_at__isnull=False).exists():
        return False
    effects = Effect.objects.filter(request__in=requests.values("id"))
    return not effects.exclude(state__in=ENDED).exists()
