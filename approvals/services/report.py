"""What became of an action: reported by the agent, or recorded by the worker."""

from typing import Any
from uuid import UUID

from approvals.models import Request
from approvals.problems import NOT_FOUND
from approvals.services.closing import ENDED, close_step
from approvals.services.granting import SYSTEM
from approvals.services.refusing import need_attention
from approvals.services.revise import require_environment
from audit.append import Actor
from checkpoints.effects import lock_effect, record_outcome
from checkpoints.models import Attempt, Effect
from sessions.models import Run, Session
from sessions.queries import found, locked
from sessions.runs import lock_run, require_writer
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.vault import DATA_ERASED
from tenants.verbs import Verb, perform


def report_effect(
    principal: Principal,
    *,
    effect_id: UUID,
    attempt: int,
    fence: int,
    outcome: str,
    external_id: str = "",
    evidence: dict[str, Any] | None = None,
    once: Once | None = None,
) -> Effect:
    """An agent says what its own action came to.

    `fence` is the attempt's own, or that of the run's writer now, who may report what
    a killed predecessor did. The same report again is answered alike; raises
    `outcome_conflict` for another, `stale_writer`, `environment_differs`, `not_found`,
    and `data_erased` (410) once nothing of it may be kept.
    """

    def work(verb: Verb) -> Effect:
        effect = _own_effect(principal, effect_id)
        _lock_kept(effect.run_id)
        run = lock_run(effect.run_id)
        sealed = _fence_of(effect, attempt)
        if fence != sealed:
            require_writer(run, fence)
        return settle(
            verb,
            run,
            effect_id,
            attempt=attempt,
            fence=sealed,
            outcome=outcome,
            external_id=external_id,
            evidence=evidence or {},
            actor=principal.actor,
        )

    return perform(principal.tenant_id, work, once=once)


def _own_effect(principal: Principal, effect_id: UUID) -> Effect:
    effect = Effect.objects.filter(id=effect_id).first()
    own = effect is not None and Request.objects.filter(
        id=effect.request, agent_id=principal.agent_id, tool__mode="agent"
    )
    if effect is None or not own:
        raise NOT_FOUND("No such effect.")
    require_environment(principal, effect.request)
    return effect


def _lock_kept(run_id: UUID) -> None:
    """Hold off whoever would erase the run's session; what is said later must not stay."""
    its = Run.objects.filter(id=run_id).values("session_id")
    if found(locked(Session).filter(id__in=its)).erased_at is not None:
        raise DATA_ERASED()


def _fence_of(effect: Effect, number: int) -> int:
    attempt = Attempt.objects.filter(effect=effect, number=number).first()
    if attempt is None:
        raise NOT_FOUND("No such attempt.", "/attempt")
    return attempt.fence


def settle(
    verb: Verb,
    run: Run,
    effect_id: UUID,
    *,
    attempt: int,
    fence: int,
    outcome: str,
    external_id: str,
    evidence: dict[str, Any],
    actor: Actor = SYSTEM,
) -> Effect:
    """On a locked run: record the outcome and let the run go on, or stand still."""
    before = lock_effect(effect_id).state
    effect = record_outcome(
        verb,
        effect_id,
        attempt=attempt,
        fence=fence,
        outcome=outcome,
        external_id=external_id,
        evidence=evidence,
        actor=actor,
    )
    verb.changed(effect.request, run.id)
    if effect.state == before:
        return effect
    if effect.state in ENDED:
        close_step(verb, run, effect)
    elif actor != SYSTEM:
        # Nobody but a person, or the agent's later evidence, can tell.
        need_attention(verb, run, "The agent does not know what came of its action.")
    return effect
