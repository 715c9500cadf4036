"""One person before one revision: what is locked, read and answered."""

from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Q

from approvals.access import rights_there
from approvals.delegations import stands_in
from approvals.envelope import Envelope
from approvals.models import Decision, Delegation, Request, Revision
from approvals.problems import ANSWERED_BEFORE, NOT_FOUND
from approvals.queries import current_revision, kept_answers
from approvals.separation import Standing, standing
from approvals.services.recording import decision_facts
from approvals.services.scene import lock_scene_of
from kernel.clock import database_now
from tenants.models import Member
from tenants.principal import Person
from tenants.verbs import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the form said. `digest` is of the revision that was on the screen."""

    verdict: Decision.Verdict
    digest: bytes
    reason: str = ""
    arguments: dict[str, Any] | None = None  # edit
    response: Any = None  # respond
    on_behalf_of: UUID | None = None  # the member for whom it is given
    together: str | None = None  # approved with others of this tool: see judging.py


@dataclass(slots=True, kw_only=True)
class Sight:
    """One person before one revision, as read: enough to judge an answer by."""

    person: Person
    member: Member
    request: Request
    revision: Revision
    envelope: Envelope
    standing: Standing
    rights: frozenset[str]  # on the request's queue
    now: datetime


@dataclass(slots=True, kw_only=True)
class Case(Sight):
    """A sight whose rows are locked, so that an answer can be recorded on it."""

    verb: Verb


def open_case(verb: Verb, person: Person, request_id: UUID) -> Case:
    """Lock run, pause and request, then read who may do what and the time."""
    request = lock_scene_of(request_id)
    member = Member.objects.get(id=person.member_id)
    rights = rights_there(member, request.queue_id)
    if rights is None:
        raise NOT_FOUND("No such request.")
    revision = current_revision(request)
    envelope = Envelope(bytes(revision.envelope))
    return Case(
        verb=verb,
        person=person,
        member=member,
        request=request,
        revision=revision,
        envelope=envelope,
        standing=standing(request, revision, envelope, envelope.obligation),
        rights=rights,
        now=database_now(),
    )


def delegation_of(case: Sight, answer: Answer) -> Delegation | None:
    """Under which the answer is given for somebody else; none if it is not, or may not."""
    if answer.on_behalf_of is None:
        return None
    return stands_in(
        delegate_id=case.member.id,
        delegator_id=answer.on_behalf_of,
        queue_id=case.request.queue_id,
        now=case.now,
    )


def record_decision(
    case: Case, answer: Answer, *, broke_glass: bool = False
) -> Decision:
    """The row and its signed entry. One answer a person and revision, also for others.

    The request is locked, so that nobody answers between the look and the row.
    """
    if not broke_glass:
        _check_unanswered(case, answer)
    try:
        decision = _create(case, answer, broke_glass)
    except IntegrityError as error:
        raise ANSWERED_BEFORE("Your answer to this revision stands.") from error
    case.verb.record(
        "decision.recorded",
        actor=case.person.actor,
        subject=("decision", decision.id),
        data={
            **decision_facts(decision, case.request, case.revision),
            **_proved(case.person),
            "user": str(case.member.user_id),
            "waived_solo": decision.waived_solo,
        },
    )
    return decision


def _proved(person: Person) -> dict[str, Any]:
    """How and how long ago (whole seconds, upwards) they had proved who they are."""
    ago = person.authenticated_ago
    return {
        "authenticated_ago": None if ago is None else ceil(ago),
        "methods": list(person.methods),
    }


def _check_unanswered(case: Case, answer: Answer) -> None:
    """Neither of them has answered through the other; a constraint holds the rest."""
    through = Q(on_behalf_of=case.member.id)
    if answer.on_behalf_of is not None:
        through |= Q(member=answer.on_behalf_of)
    if kept_answers(case.revision).filter(through).exists():
        raise ANSWERED_BEFORE("One of the two has answered, and that answer stands.")


def _create(case: Case, answer: Answer, broke_glass: bool) -> Decision:
    return Decision.objects.create(
        tenant_id=case.request.tenant_id,
        request=case.request,
        revision=case.revision,
        member=case.member,
        on_behalf_of_id=answer.on_behalf_of,
        delegation=delegation_of(case, answer),
        verdict=answer.verdict,
        digest=bytes(case.revision.digest),
        reason=answer.reason.strip(),
        response=answer.response,
        waived_solo=case.member.id in case.standing.waived,
        broke_glass=broke_glass,
        authentication={
            "at": _authenticated_at(case),
            "methods": list(case.person.methods),
        },
    )


def _authenticated_at(case: Case) -> float | None:
    """When they last proved who they are, by the database's clock (Unix seconds)."""
    ago = case.person.authenticated_ago
    return None if ago is None else case.now.timestamp() - ago
