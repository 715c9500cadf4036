"""One-call adoption: ask without having opened, declared or saved anything before."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from approvals.asks import Ask
from approvals.models import Request
from approvals.problems import WRONG_MODE
from approvals.services.pause import check_asks, gate_to_ask, stop_and_ask
from checkpoints.checkpoint import Position
from checkpoints.models import Tool
from sessions.models import Run, Session
from sessions.queries import lock_own_session
from sessions.runs import go_on_with, lock_run, require_writer
from sessions.services.runs import begin_run
from sessions.services.sessions import begin_session
from sessions.services.workflows import gate_to_start
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.verbs import Gate, Verb, perform


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What questions are asked in: a run with its writer's fence, a session, or none.

    What is not named opens by itself; a `subject` goes with a session that opens.
    """

    subject: str = ""
    session_id: UUID | None = None
    run_id: UUID | None = None
    fence: int | None = None


def request_approval(
    principal: Principal,
    *,
    ask: Ask,
    subject: str = "",
    session_id: UUID | None = None,
    run_id: UUID | None = None,
    fence: int | None = None,
    once: Once | None = None,
) -> tuple[Request, Run]:
    """Ask for one action, opening the session, run and checkpoint that it lacks.

    With a `run_id`, `fence` proves the writer, and the pause's checkpoint is an empty
    one after the run's head. Raises what `pause_run` raises.
    """
    around = Around(subject=subject, session_id=session_id, run_id=run_id, fence=fence)
    check_asks([ask], place="")

    def work(verb: Verb) -> tuple[Request, Run]:
        run = _run(verb, principal, around)
        return ask_from(verb, principal, run, ask), run

    gate = gate_to_request(principal, [ask], opens=run_id is None)
    return perform(principal.tenant_id, work, gate=gate, once=once)


def request_together(
    principal: Principal,
    *,
    asks: Sequence[Ask],
    around: Around,
    place: str,
    once: Once | None = None,
) -> tuple[list[Request], Run]:
    """Ask for several actions at once that the agent carries out: all, or none of them.

    They wait for each other, in one pause. `place` is the pointer of a question in the
    body, by its number. Raises what `pause_run` raises, and `tool_is_managed`: what a
    worker does already, the agent must not be told to do.
    """
    check_asks(asks, place=place)

    def work(verb: Verb) -> tuple[list[Request], Run]:
        run = _run(verb, principal, around)
        requests = _ask_all(verb, principal, run, asks, place)
        _require_agent_mode(requests, place)
        return requests, run

    gate = gate_to_request(principal, asks, opens=around.run_id is None)
    return perform(principal.tenant_id, work, gate=gate, once=once)


def _require_agent_mode(requests: Sequence[Request], place: str) -> None:
    tools = Tool.objects.in_bulk({request.tool_id for request in requests})
    for index, request in enumerate(requests):
        if tools[request.tool_id].mode != Tool.Mode.AGENT:
            detail = "It is carried out by its worker, not by the caller."
            raise WRONG_MODE(detail, f"{place.format(index)}/tool")


def ask_at_once(
    verb: Verb, principal: Principal, ask: Ask, *, subject: str
) -> tuple[Request, Run]:
    """The same inside a verb that has taken `gate_to_request`, in a run of its own."""
    run = _run(verb, principal, Around(subject=subject))
    return ask_from(verb, principal, run, ask), run


def ask_from(verb: Verb, principal: Principal, run: Run, ask: Ask) -> Request:
    """Pause a locked run on one question, at an empty checkpoint after its head."""
    return _ask_all(verb, principal, run, [ask], "")[0]


def _ask_all(
    verb: Verb, principal: Principal, run: Run, asks: Sequence[Ask], place: str
) -> list[Request]:
    position = Position(
        parent=run.head_number, schema_version=1, payload=b"", header={}
    )
    return stop_and_ask(verb, principal, run, position, asks, "all", place=place)


def gate_to_request(principal: Principal, asks: Sequence[Ask], *, opens: bool) -> Gate:
    gates = {gate_to_ask(principal.tenant_id, asks)}
    if opens:
        gates.add(gate_to_start(principal.tenant_id))
    return Gate.EXCLUSIVE if Gate.EXCLUSIVE in gates else Gate.SHARED


def _run(verb: Verb, principal: Principal, around: Around) -> Run:
    if around.run_id is not None:
        run = lock_run(around.run_id, agent_id=principal.agent_id)
        require_writer(run, around.fence if around.fence is not None else -1)
        return go_on_with(run)
    session = _session(verb, principal, around)
    return begin_run(verb, session, who=principal, asks_only=True)


def _session(verb: Verb, principal: Principal, around: Around) -> Session:
    if around.session_id is not None:
        return lock_own_session(principal, around.session_id)
    subject = around.subject or Session.UNSPECIFIED
    return begin_session(verb, who=principal, subject=subject)
