"""The agent pauses: checkpoint, requests and policy's first answer, all or nothing."""

from collections.abc import Sequence
from uuid import UUID

from approvals.asks import Ask
from approvals.models import Pause, Request
from approvals.problems import RUN_NOT_RUNNING
from approvals.services.asking import Scene, ask_one
from approvals.services.granting import owe_when_ready
from approvals.services.queues import ensure_default_queue
from checkpoints.checkpoint import Position, add_checkpoint, check_form
from checkpoints.services.tools import register_unreviewed
from kernel.clock import database_now
from sessions.models import Run, Session
from sessions.runs import lock_run, move_run, require_writer
from tenants.idempotency import Once
from tenants.models import ApiKey
from tenants.principal import Principal
from tenants.verbs import Verb, perform


def pause_run(
    principal: Principal,
    *,
    run_id: UUID,
    fence: int,
    position: Position,
    asks: Sequence[Ask],
    resume_when: str = Pause.Until.ALL,
    once: Once | None = None,
) -> list[Request]:
    """Stop at a checkpoint and ask. Nothing is kept if any question is refused.

    Raises `stale_writer`, `stale_checkpoint`, `run_not_running`, and what `ask_one`
    raises.
    """
    check_form(position, pointer="/checkpoint")
    prepare(principal, asks)

    def work(verb: Verb) -> list[Request]:
        run = lock_run(run_id, agent_id=principal.agent_id)
        require_writer(run, fence)
        return stop_and_ask(verb, principal, run, position, asks, resume_when)

    return perform(principal.tenant_id, work, once=once)


def prepare(principal: Principal, asks: Sequence[Ask]) -> None:
    """In verbs of their own, first: new tools and queues are what rights rest on."""
    ensure_default_queue(principal.tenant_id)
    for name in {ask.tool for ask in asks}:
        register_unreviewed(principal, name=name)


def stop_and_ask(
    verb: Verb,
    principal: Principal,
    run: Run,
    position: Position,
    asks: Sequence[Ask],
    resume_when: str,
    *,
    place: str = "/requests/{}",
) -> list[Request]:
    """The pause itself, on a locked run whose writer has been proved.

    `place` is the JSON Pointer of a question in the body, by its number.
    """
    if run.state != Run.State.RUNNING:
        raise RUN_NOT_RUNNING(f"The run is {run.state}.")
    scene = _scene(verb, principal, run, position, resume_when)
    requests = [
        ask_one(verb, scene, ask, place=place.format(index))
        for index, ask in enumerate(asks)
    ]
    move_run(verb, run, Run.State.PAUSED, actor=principal.actor)
    owe_when_ready(verb, scene.pause.id, scene.now)
    return requests


def _scene(
    verb: Verb, principal: Principal, run: Run, position: Position, resume_when: str
) -> Scene:
    checkpoint = add_checkpoint(verb, run, position, actor=principal.actor)
    pause = Pause.objects.create(
        tenant_id=run.tenant_id, run=run, checkpoint=checkpoint, resume_when=resume_when
    )
    return Scene(
        session=Session.objects.get(id=run.session_id),
        run=run,
        checkpoint=checkpoint,
        pause=pause,
        key=ApiKey.objects.select_related("agent").get(id=principal.key_id),
        now=database_now(),
    )
