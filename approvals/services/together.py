"""Several requests with one answer: each in a transaction of its own, by the same verb."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from approvals.models import Decision
from approvals.services.case import Answer
from approvals.services.decide import decide
from approvals.services.revoke import revoke
from kernel.problems import Problem
from tenants.principal import Person

V = Decision.Verdict


def decide_each(
    person: Person,
    *,
    verdict: Decision.Verdict,
    reason: str,
    seen: Mapping[UUID, bytes],
    tool: str,
) -> dict[UUID, Problem | None]:
    """Why each was refused, or None where the answer is recorded.

    `seen` are the digests that were shown, by request. An approval is recorded for
    requests of low risk that are about `tool`, whatever else is asked for: `not_together`.
    One that is refused stops none of the others.
    """
    return {
        id: _decide(
            person,
            id,
            Answer(verdict=verdict, digest=digest, reason=reason, together=tool),
        )
        for id, digest in seen.items()
    }


def _decide(person: Person, id: UUID, answer: Answer) -> Problem | None:
    try:
        decide(person, request_id=id, answer=answer)
    except Problem as problem:
        return problem
    return None


def revoke_each(
    person: Person, *, ids: Iterable[UUID], reason: str
) -> dict[UUID, Problem | None]:
    """Why each could not be taken back, or None where it was."""
    return {id: _revoke(person, id, reason) for id in ids}


def _revoke(person: Person, id: UUID, reason: str) -> Problem | None:
    try:
        revoke(person, request_id=id, reason=reason)
    except Problem as problem:
        return problem
    return None
