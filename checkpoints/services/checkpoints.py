"""Saving checkpoints, one after the other."""

from uuid import UUID

from checkpoints.checkpoint import (
    Position,
    add_checkpoint,
    check_form,
    check_header,
)
from checkpoints.models import Checkpoint
from sessions.models import Run
from sessions.runs import (
    PAUSE_OPEN,
    WAITING,
    go_on_with,
    lock_run,
    require_state,
    require_writer,
)
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.verbs import Verb, perform

State = Run.State


def save_checkpoint(
    *,
    who: Principal,
    run_id: UUID,
    fence: int,
    position: Position,
    once: Once | None = None,
) -> Checkpoint:
    """Make a position the run's head, if its parent still is.

    Raises 409 `stale_writer`, `stale_checkpoint`, `pause_open` while the run waits for
    approval, `run_ended`, `wrong_state`, `schema_unsupported`; `not_found` (404).
    """
    check_form(position)

    def work(verb: Verb) -> Checkpoint:
        check_header(position)
        run = lock_run(run_id, agent_id=who.agent_id)
        require_writer(run, fence)
        if run.state in WAITING:
            raise PAUSE_OPEN("No checkpoint may follow until it is decided.")
        require_state(run, State.RUNNING)
        go_on_with(run)
        return add_checkpoint(verb, run, position, actor=who.actor)

    return perform(who.tenant_id, work, once=once)
