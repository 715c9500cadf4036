"""Who stands on the side that asks, and by what: said of the same sources that exclude."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from approvals.access import owners_since
from approvals.envelope import Envelope
from approvals.models import Request, Revision
from approvals.pages.sealed import sealed_obligation, sealed_record
from approvals.separation import policy_authors


def asking_side(
    request: Request, revision: Revision, envelope: Envelope
) -> dict[UUID, str]:
    """By member id, half a sentence: "answers for the agent"."""
    obligation, asked = sealed_obligation(envelope), _requester(envelope)
    reasons: dict[UUID, str] = {}
    for author in policy_authors(obligation) if obligation else ():
        reasons[author] = "wrote the policy, which nobody else has cosigned,"
    if asked.get("key_creator"):
        reasons[UUID(asked["key_creator"])] = "made the agent’s key"
    owners = owners_since(request.agent_id, request.created_at)
    for owner in owners | {UUID(one) for one in asked.get("owners", ())}:
        reasons[owner] = "answers for the agent"
    if revision.author_id and revision.author_type == "member":
        reasons[revision.author_id] = "edited the arguments"
    return reasons


def _requester(envelope: Envelope) -> Mapping[str, Any]:
    asked: Mapping[str, Any] = sealed_record(envelope).get("requester", {})
    return asked
