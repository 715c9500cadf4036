"""A run's life as its agent leads it: start, claim, keep alive, record, end."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from sessions.branches import branch_to_run_on
from sessions.contract import PROVENANCE_NOT_ALLOWED, Claim, Contract, check_proof
from sessions.facts import require_version, write_facts
from sessions.hooks import Closing
from sessions.models import Provenance, Run, Session, Transition
from sessions.queries import DEFAULT_KIND, lock_own_session
from sessions.runs import (
    PAUSE_OPEN,
    WAITING,
    add_transition,
    extend_lease,
    go_on_with,
    lock_run,
    move_run,
    require_state,
    require_writer,
    take_lease,
)
from sessions.services.workflows import gate_to_start, workflow_to_start
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.vault import DATA_ERASED
from tenants.verbs import Verb, perform

LEASE_SECONDS: Final = 60
"""How long a claim lasts when nothing else is asked for."""


def start_run(
    *,
    who: Principal,
    session_id: UUID,
    workflow: str = DEFAULT_KIND,
    external_id: str | None = None,
    branch: int | None = None,
    lease_seconds: int = LEASE_SECONDS,
    once: Once | None = None,
) -> tuple[Run, bool]:
    """Start a run, claimed by the caller; or find the one with this `external_id`.

    It is alone on its branch: the session's trunk or, while a run is on that, a new
    one. Returns the run and whether it is new. Raises `not_found` (404) for a session
    or branch that is not the agent's, `branch_held` (409) for a branch that was asked
    for and has a live run, `workflow_unknown` (422).
    """

    def work(verb: Verb) -> tuple[Run, bool]:
        session = lock_own_session(who, session_id)
        known = _run_called(session, external_id)
        if known is not None:
            return known, False
        run = begin_run(
            verb,
            session,
            who=who,
            workflow=workflow,
            external_id=external_id,
            branch=branch,
            lease_seconds=lease_seconds,
        )
        return run, True

    gate = gate_to_start(who.tenant_id, workflow)
    return perform(who.tenant_id, work, gate=gate, once=once)


def begin_run(
    verb: Verb,
    session: Session,
    *,
    who: Principal,
    workflow: str = DEFAULT_KIND,
    external_id: str | None = None,
    branch: int | None = None,
    lease_seconds: int = LEASE_SECONDS,
    asks_only: bool = False,
) -> Run:
    """Start a run of a locked session, inside a verb under `gate_to_start`.

    One that `asks_only` opens for questions asked in one call, and for nothing else.
    """
    if session.erased_at is not None:
        raise DATA_ERASED()
    kind = workflow_to_start(verb, workflow)
    run = Run.objects.create(
        tenant_id=who.tenant_id,
        session=session,
        agent_id=who.agent_id,
        workflow=kind,
        stage=Contract.of(kind).initial,
        external_id=external_id,
        branch=branch_to_run_on(verb, session, actor=who.actor, wanted=branch),
        asks_only=asks_only,
    )
    extend_lease(run, holder=who.key_id, seconds=lease_seconds)
    before = {"from_state": "", "from_stage": ""}
    add_transition(verb, run, "run.started", actor=who.actor, **before)
    return run


def claim_run(
    *,
    who: Principal,
    run_id: UUID,
    lease_seconds: int = LEASE_SECONDS,
    once: Once | None = None,
) -> Run:
    """Become the run's one writer, under a new fence.

    The holder may claim again, which makes its own earlier fence stale. Raises
    `lease_held` or `run_ended` (409), `not_found` (404).
    """

    def work(verb: Verb) -> Run:
        run = lock_run(run_id, agent_id=who.agent_id)
        take_lease(verb, run, holder=who.key_id, seconds=lease_seconds, actor=who.actor)
        return run

    return perform(who.tenant_id, work, once=once)


def heartbeat(
    *,
    who: Principal,
    run_id: UUID,
    fence: int,
    lease_seconds: int = LEASE_SECONDS,
    once: Once | None = None,
) -> Run:
    """Keep the lease for `lease_seconds` from now. Raises `stale_writer` (409)."""

    def work(verb: Verb) -> Run:
        run = lock_run(run_id, agent_id=who.agent_id)
        require_writer(run, fence)
        extend_lease(run, holder=who.key_id, seconds=lease_seconds)
        return run

    return perform(who.tenant_id, work, once=once)


def record_transition(
    *,
    who: Principal,
    run_id: UUID,
    fence: int,
    expected_version: int,
    facts: Mapping[str, Claim],
    stage: str | None = None,
    reason: str = "",
    once: Once | None = None,
) -> Transition:
    """State facts and move between stages, if nothing changed since they were read.

    Raises 409 `stale_writer`, `stale_version`, `run_ended`, `fact_missing` and
    `fact_stale`; 422 for what the workflow does not allow and for what nothing vouches
    for; `not_found` (404).
    """

    def work(verb: Verb) -> Transition:
        run = lock_run(run_id, agent_id=who.agent_id)
        require_writer(run, fence)
        require_version(run, expected_version)
        go_on_with(run)
        _refuse_reviewer(facts)
        _check_proofs(facts)
        return write_facts(
            verb, run, actor=who.actor, claims=facts, stage=stage, reason=reason
        )

    return perform(who.tenant_id, work, once=once)


def complete_run(
    *,
    who: Principal,
    run_id: UUID,
    fence: int,
    result: Any = None,
    once: Once | None = None,
) -> Run:
    """End the run as done. Raises `pause_open` (409) while it waits for approval."""
    return _end(who, run_id, fence, Run.State.COMPLETED, result=result, once=once)


def fail_run(
    *,
    who: Principal,
    run_id: UUID,
    fence: int,
    reason: str,
    closing: Closing | None = None,
    once: Once | None = None,
) -> Run:
    """End the run as failed; a paused one only together with what `closing` closes."""
    to = Run.State.FAILED
    return _end(who, run_id, fence, to, reason=reason, closing=closing, once=once)


def cancel_run(
    *,
    who: Principal,
    run_id: UUID,
    fence: int,
    reason: str,
    closing: Closing | None = None,
    once: Once | None = None,
) -> Run:
    """End the run as not wanted; a paused one together with what `closing` closes."""
    to = Run.State.CANCELLED
    return _end(who, run_id, fence, to, reason=reason, closing=closing, once=once)


def _refuse_reviewer(facts: Mapping[str, Claim]) -> None:
    """What a reviewer states comes from a reviewer, not from an agent's key."""
    for name, claim in facts.items():
        if claim.provenance == Provenance.REVIEWER:
            raise PROVENANCE_NOT_ALLOWED(None, f"/facts/{name}/provenance")


def _check_proofs(facts: Mapping[str, Claim]) -> None:
    for name, claim in facts.items():
        check_proof(name, claim)


def _end(
    who: Principal,
    run_id: UUID,
    fence: int,
    to: Run.State,
    *,
    reason: str = "",
    result: Any = None,
    closing: Closing | None = None,
    once: Once | None = None,
) -> Run:
    def work(verb: Verb) -> Run:
        run = lock_run(run_id, agent_id=who.agent_id)
        require_writer(run, fence)
        _close(verb, run, closing)
        require_state(run, Run.State.RUNNING, *WAITING)
        move_run(verb, run, to, actor=who.actor, reason=reason, result=result)
        return run

    return perform(who.tenant_id, work, once=once)


def _close(verb: Verb, run: Run, closing: Closing | None) -> None:
    if run.state not in WAITING:
        return
    if closing is None:
        raise PAUSE_OPEN("Withdraw what it asks for first.")
    closing(verb, run)


def _run_called(session: Session, external_id: str | None) -> Run | None:
    if external_id is None:
        return None
    runs = Run.objects.select_related("session", "workflow")
    return runs.filter(
        tenant_id=session.tenant_id, session_id=session.id, external_id=external_id
    ).first()
