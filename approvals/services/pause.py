"""The agent pauses: checkpoint, requests and policy's first answer, all or nothing."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from approvals.asks import Ask
from approvals.models import Pause, Request
from approvals.problems import RUN_NOT_RUNNING, TOOL_NOT_REVIEWED
from approvals.services.asking import Scene, ask_one
from approvals.services.granting import owe_when_ready
from approvals.services.pace import count
from approvals.services.queues import has_default_queue, open_default_queue
from checkpoints.checkpoint import (
    Position,
    add_checkpoint,
    check_form,
    check_header,
)
from checkpoints.queries import tool_named, unknown_tools
from checkpoints.services.tools import tool_to_use
from kernel.clock import database_now
from kernel.json_schema import check_schema, end_of_reading
from kernel.scope import tenant_transaction
from sessions.models import Run, Session
from sessions.runs import go_on_with, lock_run, move_run, require_writer
from tenants.idempotency import Once
from tenants.models import ApiKey
from tenants.principal import Principal
from tenants.services.quotas import require_room
from tenants.verbs import Gate, Verb, perform

PLACE: Final = "/requests/{}"


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

    Raises `stale_writer`, `stale_checkpoint`, `run_not_running`, `quota_exceeded`, and
    what `ask_one` raises.
    """
    check_form(position, pointer="/checkpoint")
    check_asks(asks)

    def work(verb: Verb) -> list[Request]:
        check_header(position, pointer="/checkpoint")
        run = lock_run(run_id, agent_id=principal.agent_id)
        require_writer(run, fence)
        go_on_with(run)
        return stop_and_ask(verb, principal, run, position, asks, resume_when)

    gate = gate_to_ask(principal.tenant_id, asks)
    return perform(principal.tenant_id, work, gate=gate, once=once)


def check_asks(asks: Sequence[Ask], *, place: str = PLACE) -> None:
    """Raises `schema_invalid`, `schema_too_complex` (422). Needs no database."""
    ends = end_of_reading()
    for index, ask in enumerate(asks):
        if ask.response_schema is not None:
            pointer = f"{place.format(index)}/response_schema"
            check_schema(ask.response_schema, pointer=pointer, ends=ends)


def gate_to_ask(tenant_id: UUID, asks: Sequence[Ask]) -> Gate:
    """New tools and queues are what rights rest on: making one closes the gate."""
    may_be_made = {ask.tool for ask in asks if not ask.reviewed_only}
    with tenant_transaction(tenant_id):
        unknown = unknown_tools(tenant_id, may_be_made)
        ready = has_default_queue() and not unknown
    return Gate.SHARED if ready else Gate.EXCLUSIVE


def stop_and_ask(
    verb: Verb,
    principal: Principal,
    run: Run,
    position: Position,
    asks: Sequence[Ask],
    resume_when: str,
    *,
    place: str = PLACE,
) -> list[Request]:
    """The pause itself, on a locked run whose writer has been proved.

    `place` is the JSON Pointer of a question in the body, by its number.
    """
    if run.state != Run.State.RUNNING:
        raise RUN_NOT_RUNNING(f"The run is {run.state}.")
    _refuse_unreviewed(verb.tenant_id, asks, place)
    require_room(principal.agent_id, len(asks))
    open_default_queue(verb, principal.actor)
    for name in unknown_tools(verb.tenant_id, {ask.tool for ask in asks}):
        tool_to_use(verb, principal, name=name)
    scene = _scene(verb, principal, run, position, resume_when)
    requests = [
        ask_one(verb, scene, ask, place=place.format(index))
        for index, ask in enumerate(asks)
    ]
    move_run(verb, run, Run.State.PAUSED, actor=principal.actor)
    owe_when_ready(verb, scene.pause.id, scene.now)
    count(verb, principal, requests)
    return requests


def _refuse_unreviewed(tenant_id: UUID, asks: Sequence[Ask], place: str) -> None:
    """Raises `tool_not_reviewed` (409), before any tool is registered."""
    for index, ask in enumerate(asks):
        if not ask.reviewed_only:
            continue
        tool = tool_named(tenant_id, ask.tool)
        if tool is None or not tool.reviewed:
            pointer = f"{place.format(index)}/tool"
            raise TOOL_NOT_REVIEWED("Somebody has to register it first.", pointer)


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
