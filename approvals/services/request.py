"""One-call adoption: ask without having opened, declared or saved anything before."""

from uuid import UUID

from approvals.asks import Ask
from approvals.models import Request
from approvals.services.pause import check_asks, gate_to_ask, stop_and_ask
from checkpoints.checkpoint import Position
from sessions.models import Run, Session
from sessions.queries import lock_own_session
from sessions.runs import lock_run, require_writer
from sessions.services.runs import begin_run
from sessions.services.sessions import begin_session
from sessions.services.workflows import gate_to_start
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.verbs import Gate, Verb, perform


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
    check_asks([ask], place="")

    def work(verb: Verb) -> tuple[Request, Run]:
        run = _run(verb, principal, subject, session_id, run_id, fence)
        return ask_from(verb, principal, run, ask), run

    gate = gate_to_request(principal, ask, opens=run_id is None)
    return perform(principal.tenant_id, work, gate=gate, once=once)


def ask_at_once(
    verb: Verb, principal: Principal, ask: Ask, *, subject: str
) -> tuple[Request, Run]:
    """The same inside a verb that has taken `gate_to_request`, in a run of its own."""
    run = _run(verb, principal, subject, None, None, None)
    return ask_from(verb, principal, run, ask), run


def ask_from(verb: Verb, principal: Principal, run: Run, ask: Ask) -> Request:
    """Pause a locked run on one question, at an empty checkpoint after its head."""
    position = Position(
        parent=run.head_number, schema_version=1, payload=b"", header={}
    )
    return stop_and_ask(verb, principal, run, position, [ask], "all", place="")[0]


def gate_to_request(principal: Principal, ask: Ask, *, opens: bool) -> Gate:
    gates = {gate_to_ask(principal.tenant_id, [ask])}
    if opens:
        gates.add(gate_to_start(principal.tenant_id))
    return Gate.EXCLUSIVE if Gate.EXCLUSIVE in gates else Gate.SHARED


def _run(
    verb: Verb,
    principal: Principal,
    subject: str,
    session_id: UUID | None,
    run_id: UUID | None,
    fence: int | None,
) -> Run:
    if run_id is not None:
        run = lock_run(run_id, agent_id=principal.agent_id)
        require_writer(run, fence if fence is not None else -1)
        return run
    session = _session(verb, principal, subject, session_id)
    return begin_run(verb, session, who=principal)


def _session(
    verb: Verb, principal: Principal, subject: str, session_id: UUID | None
) -> Session:
    if session_id is not None:
        return lock_own_session(principal, session_id)
    return begin_session(verb, who=principal, subject=subject or Session.UNSPECIFIED)
