"""Saving checkpoints, and reading them only if they are what was saved."""

import hashlib
from uuid import UUID

from checkpoints.checkpoint import (
    CHECKPOINT_CORRUPTED,
    SCHEMA_UNSUPPORTED,
    Position,
    add_checkpoint,
    check_form,
    is_intact,
)
from checkpoints.models import Checkpoint
from checkpoints.vault import open_payload
from kernel.problems import NOT_FOUND, Kind
from kernel.scope import tenant_transaction
from kernel.sealing import Unreadable
from sessions.contract import Contract
from sessions.models import Run
from sessions.queries import own_run
from sessions.runs import (
    PAUSE_OPEN,
    WAITING,
    lock_run,
    move_run,
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
        run = lock_run(run_id, agent_id=who.agent_id)
        require_writer(run, fence)
        if run.state in WAITING:
            raise PAUSE_OPEN("No checkpoint may follow until it is decided.")
        require_state(run, State.RUNNING)
        return add_checkpoint(verb, run, position, actor=who.actor)

    return perform(who.tenant_id, work, once=once)


def read_checkpoint(
    *, who: Principal, run_id: UUID, number: int | None = None
) -> Checkpoint:
    """A checkpoint of the agent's run, or its head, exactly as it was saved.

    Raises `not_found` (404); `checkpoint_corrupted` or `schema_unsupported` (409), and
    then the run needs attention, with the stored bytes left as they are;
    `data_erased` (410).
    """
    with tenant_transaction(who.tenant_id):
        run = own_run(who, run_id)
        checkpoint = _stored(run, number)
        flaw = _flaw(run, checkpoint)
    if flaw is None:
        return checkpoint
    _park(who, run_id, checkpoint, flaw)
    raise flaw(f"Checkpoint {checkpoint.number}: a person must look at this run.")


def _stored(run: Run, number: int | None) -> Checkpoint:
    wanted = (run.head_number if number is None else number) or 0
    stored = Checkpoint.objects.filter(
        tenant_id=run.tenant_id, run_id=run.id, number=wanted
    ).first()
    if stored is None:
        raise NOT_FOUND()
    return stored


def _flaw(run: Run, checkpoint: Checkpoint) -> Kind | None:
    try:
        payload = open_payload(checkpoint, session_id=run.session_id)
    except Unreadable:
        return CHECKPOINT_CORRUPTED
    intact = is_intact(checkpoint, hashlib.sha256(payload).digest())
    if checkpoint.number == run.head_number:
        intact &= bytes(checkpoint.digest) == bytes(run.head_digest or b"")
    if not intact:
        return CHECKPOINT_CORRUPTED
    if not Contract.of(run.workflow).understands(checkpoint.schema_version):
        return SCHEMA_UNSUPPORTED
    return None


def _park(who: Principal, run_id: UUID, checkpoint: Checkpoint, flaw: Kind) -> None:
    """Record the finding, and keep the run from going on with it."""

    def work(verb: Verb) -> None:
        run = lock_run(run_id, agent_id=who.agent_id)
        data = {"run": str(run.id), "number": checkpoint.number, "code": flaw.code}
        about = ("checkpoint", checkpoint.id)
        verb.record("checkpoint.refused", actor=who.actor, subject=about, data=data)
        if run.state == State.RUNNING:
            why = f"Checkpoint {checkpoint.number}: {flaw.code}"
            move_run(verb, run, State.NEEDS_ATTENTION, actor=who.actor, reason=why)

    perform(who.tenant_id, work)
