"""Writing decisions down, each with its signed entry. Steps in a verb."""

from typing import Any

from approvals.models import Decision, Request, Revision
from audit.append import Actor
from tenants.verbs import Verb


def record_policy_decision(
    verb: Verb, request: Request, revision: Revision, answer: Decision.Verdict
) -> Decision:
    """A decision without a person, audited like any other."""
    decision = Decision.objects.create(
        tenant_id=request.tenant_id,
        request=request,
        revision=revision,
        member=None,
        verdict=answer,
        digest=bytes(revision.digest),
        reason="Decided by policy.",
    )
    verb.record(
        "decision.recorded",
        actor=Actor(type="policy", id="keyturn"),
        subject=("decision", decision.id),
        data=decision_facts(decision, request, revision),
    )
    return decision


def decision_facts(
    decision: Decision, request: Request, revision: Revision
) -> dict[str, Any]:
    """What the signed entry says of a decision; compared again before acting."""
    return {
        "request": str(request.id),
        "revision": revision.number,
        "digest": bytes(decision.digest).hex(),
        "member": str(decision.member_id) if decision.member_id else None,
        "verdict": decision.verdict,
        "broke_glass": decision.broke_glass,
        **({"standing": str(decision.standing_id)} if decision.standing_id else {}),
        **_behalf(decision),
    }


def _behalf(decision: Decision) -> dict[str, str]:
    """For whom it was given, where it was given for somebody else."""
    if decision.on_behalf_of_id is None:
        return {}
    return {
        "on_behalf_of": str(decision.on_behalf_of_id),
        "delegation": str(decision.delegation_id),
    }
