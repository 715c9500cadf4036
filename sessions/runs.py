"""The steps a run can take, for use inside a verb that has locked it.

None of these opens a transaction. A run moves only along `MOVES`, only by a
conditional UPDATE, and never without a transition row and an audit entry.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from audit.append import Actor
from kernel.canonical import digest
from kernel.clock import database_now
from kernel.problems import declare
from kernel.update import update_exactly_one
from sessions.models import Run, Transition
from sessions.queries import found, last_seq, locked
from sessions.redaction import redacted, redacted_text
from tenants.verbs import Verb

FENCE: Final = "Keyturn-Fence"
FENCE_REQUIRED: Final = declare(
    "fence_required", status=428, title=f"The header {FENCE} is missing"
)
STALE_WRITER: Final = declare(
    "stale_writer", status=409, title="Another writer has taken the run over"
)
LEASE_HELD: Final = declare(
    "lease_held", status=409, title="Another writer holds the run's lease"
)
PAUSE_OPEN: Final = declare(
    "pause_open", status=409, title="The run is paused for approval"
)
RUN_ENDED: Final = declare("run_ended", status=409, title="The run has ended")
WRONG_STATE: Final = declare(
    "wrong_state", status=409, title="The run is not in a state that allows this"
)

State = Run.State
MOVES: Final[Mapping[str, frozenset[str]]] = {
    State.RUNNING: frozenset(
        {
            State.PAUSED,
            State.COMPLETED,
            State.FAILED,
            State.CANCELLED,
            State.NEEDS_ATTENTION,
        }
    ),
    State.PAUSED: frozenset(
        {State.RESUMING, State.RUNNING, State.CANCELLED, State.FAILED}
    ),
    State.RESUMING: frozenset(
        {
            State.RUNNING,
            State.PAUSED,
            State.NEEDS_ATTENTION,
            State.FAILED,
            State.CANCELLED,
        }
    ),
    State.NEEDS_ATTENTION: frozenset(
        {State.RESUMING, State.COMPLETED, State.FAILED, State.CANCELLED}
    ),
    State.COMPLETED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
}
ENDED: Final = frozenset(state for state, following in MOVES.items() if not following)
WAITING: Final = frozenset({State.PAUSED, State.RESUMING})
"""A pause is open: nobody but those who close it may write checkpoints."""


def lock_run(run_id: UUID, *, agent_id: UUID | None = None) -> Run:
    """Hold the run, its lease and its facts until the transaction ends.

    Its workflow comes with it. Raises `not_found` (404), and locks nothing, if there
    is no such run in the tenant's scope, or it is not that of `agent_id`.
    """
    runs = locked(Run).select_related("workflow").filter(id=run_id)
    return found(runs if agent_id is None else runs.filter(agent_id=agent_id))


def require_writer(run: Run, fence: int) -> None:
    """Raises `stale_writer` (409) unless `fence` is that of the latest claim."""
    if run.fence != fence:
        raise STALE_WRITER("Its lease was claimed again: stop, or claim it anew.")


def go_on_with(run: Run) -> Run:
    """Whoever works on in a locked run that opened for a question alone keeps it."""
    if run.asks_only:
        update_exactly_one(Run.objects.filter(id=run.id), asks_only=False)
        run.asks_only = False
    return run


def require_live(run: Run) -> None:
    """Raises `run_ended` (409) once the run is completed, failed or cancelled."""
    if run.state in ENDED:
        raise RUN_ENDED(f"It is {run.state}.")


def require_state(run: Run, *allowed: str) -> None:
    """Raises `run_ended` or `wrong_state` (409) unless the run is in such a state."""
    require_live(run)
    if run.state not in allowed:
        raise WRONG_STATE(f"It is {run.state}.")


def move_run(
    verb: Verb,
    run: Run,
    to: str,
    *,
    actor: Actor,
    reason: str = "",
    result: Any = None,
) -> Transition:
    """Bring a locked run into another state; ending it ends its lease.

    Raises `run_ended` or `wrong_state` (409) where `MOVES` has no such move.
    """
    require_state(run, *(state for state in MOVES if to in MOVES[state]))
    came_from, reason = run.state, redacted_text(reason, run.tenant_id)
    change = {
        "state": to,
        "reason": reason,
        **_ending(to, redacted(result, run.tenant_id)[0]),
    }
    _change(run, state=came_from, to=change)
    return add_transition(
        verb, run, f"run.{to}", actor=actor, reason=reason, from_state=came_from
    )


def add_transition(
    verb: Verb, run: Run, kind: str, *, actor: Actor, reason: str = "", **before: Any
) -> Transition:
    """Record what just changed on a locked run, in its history and the audit log.

    `before` holds `from_state` and `from_stage` where they differ from what the run
    has now, and `changes` of facts. The log gets the row's digest, not its contents,
    so that contents can be erased and cannot be changed.
    """
    transition = Transition(
        tenant_id=run.tenant_id,
        run_id=run.id,
        seq=last_seq(run) + 1,
        version=run.version,
        to_state=run.state,
        to_stage=run.stage,
        actor_type=actor.type,
        actor_id=actor.id if isinstance(actor.id, UUID) else None,
        reason=reason,
        **{"from_state": run.state, "from_stage": run.stage, **before},
    )
    transition.save(force_insert=True)
    data = {"seq": transition.seq, "digest": transition_digest(transition).hex()}
    verb.record(kind, actor=actor, subject=("run", run.id), data=data)
    verb.changed(run.id)
    return transition


def transition_digest(transition: Transition) -> bytes:
    """What the audit log keeps of a transition, 32 bytes.

    The row's id is under it and nowhere else on the chain: once the row is erased,
    nobody can find its contents by trying.
    """
    return digest("keyturn/transition/v1", transition_record(transition))


def transition_record(transition: Transition) -> dict[str, Any]:
    """What its digest covers."""
    actor = transition.actor_id
    return {
        "id": str(transition.id),
        "run": str(transition.run_id),
        "seq": transition.seq,
        "version": transition.version,
        "state": [transition.from_state, transition.to_state],
        "stage": [transition.from_stage, transition.to_stage],
        "changes": transition.changes,
        "actor": [transition.actor_type, str(actor) if actor else None],
        "reason": transition.reason,
    }


def take_lease(
    verb: Verb, run: Run, *, holder: UUID, seconds: int, actor: Actor
) -> None:
    """Make `holder` the one writer of a locked run: every earlier fence is stale now.

    Raises `run_ended` or, while somebody else's lease lasts, `lease_held` (409).
    """
    require_live(run)
    now = database_now()
    if run.due_at is not None and run.due_at > now and run.lease_holder != holder:
        raise LEASE_HELD(None, lease_until=run.due_at.isoformat())
    until = now + timedelta(seconds=seconds)
    claim = {"fence": run.fence + 1, "lease_holder": holder, "due_at": until}
    _change(run, fence=run.fence, to=claim)
    data = {"fence": run.fence, "holder": str(holder)}
    verb.record("run.claimed", actor=actor, subject=("run", run.id), data=data)


def extend_lease(run: Run, *, holder: UUID, seconds: int) -> None:
    """Let the writer of a locked run write for `seconds` from now.

    Not an entry of the audit log: nothing changes but the time of the next look.
    """
    require_live(run)
    until = database_now() + timedelta(seconds=seconds)
    _change(run, fence=run.fence, to={"lease_holder": holder, "due_at": until})


def release_lease(run: Run) -> None:
    """End the lease of a locked run. The fence stays: it names the last writer."""
    _change(run, fence=run.fence, to={"lease_holder": None, "due_at": None})


def _ending(to: str, result: Any) -> dict[str, Any]:
    if to not in ENDED:
        return {}
    now = database_now()
    return {"ended_at": now, "result": result, "lease_holder": None, "due_at": None}


def _change(run: Run, *, to: Mapping[str, Any], **was: Any) -> None:
    rows = Run.objects.filter(tenant_id=run.tenant_id, id=run.id, **was)
    update_exactly_one(rows, **to)
    for name, value in to.items():
        setattr(run, name, value)
