"""A person says what came of an action that nothing else can prove."""

from uuid import UUID

from approvals.access import may, visible_queues
from approvals.models import Request
from approvals.problems import (
    EVIDENCE_NEEDED,
    NO_RIGHT,
    NOT_FOUND,
    RESOLUTION_UNKNOWN,
)
from approvals.services.closing import ENDED, close_step
from approvals.services.granting import end_jobs
from approvals.services.scene import lock_scene_of
from checkpoints.effects import lock_effect, settle_effect
from checkpoints.models import Effect
from sessions.runs import lock_run
from tenants.idempotency import Once
from tenants.models import Member
from tenants.principal import Person
from tenants.verbs import Verb, perform


def resolve_effect(
    person: Person,
    *,
    effect_id: UUID,
    outcome: str,
    evidence: str,
    external_id: str = "",
    once: Once | None = None,
) -> Effect:
    """Record `confirmed`, `failed` or `absent`, and what proves it; the run goes on.

    Raises `resolution_unknown`, `not_found`, `not_permitted`, `evidence_needed`, `outcome_conflict` when it
    is known already, and `not_proved` while an absence may still be under way.
    """
    if outcome not in ENDED:
        raise RESOLUTION_UNKNOWN(None, "/outcome")
    if not evidence.strip():
        raise EVIDENCE_NEEDED("Say how you know; the auditor reads it.", "/evidence")

    def work(verb: Verb) -> Effect:
        request = _lock(person, effect_id)
        run = lock_run(request.run_id)
        effect = settle_effect(
            verb,
            lock_effect(effect_id).id,
            outcome=outcome,
            external_id=external_id,
            evidence={"said": evidence.strip(), "by": str(person.member_id)},
            actor=person.actor,
        )
        end_jobs(request, effect.state)  # nobody has to find it out any more
        close_step(verb, run, effect)
        return effect

    return perform(person.tenant_id, work, once=once)


def _lock(person: Person, effect_id: UUID) -> Request:
    effect = Effect.objects.filter(id=effect_id).first()
    if effect is None:
        raise NOT_FOUND("No such effect.")
    request = lock_scene_of(effect.request)
    member = Member.objects.get(id=person.member_id)
    if request.queue_id not in visible_queues(member) or not member.active:
        raise NOT_FOUND("No such effect.")
    if not may(member, "resolve", request.queue_id):
        raise NO_RIGHT("You may not record outcomes on this queue.")
    return request
