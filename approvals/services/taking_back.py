"""Taking one's answer back, while it has led to nothing: the request still waits."""

from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet

from approvals.models import Decision, Request
from approvals.problems import DIGEST_CHANGED, NOT_ANSWERED, TAKEN_BACK
from approvals.services.case import Case, open_case
from approvals.services.decide import closed
from kernel.clock import ClockTimestamp
from kernel.problems import Problem
from kernel.update import update_exactly_one
from tenants.idempotency import Once
from tenants.principal import Person
from tenants.verbs import Verb, perform

SAID: Final = "Taken back."


def take_back(
    person: Person, *, request_id: UUID, digest: bytes, once: Once | None = None
) -> Request:
    """End the person's answer, or the one given for them, to what was on the screen.

    It stays on record and counts no more; either of the two may answer again. It takes no
    right but to see the request: who has lost the others leaves no key behind. Raises
    `not_found`, `already_decided`, `expired`, `digest_changed`, `not_answered`,
    `taken_back`.
    """

    def work(verb: Verb) -> Request | Problem:
        return _take_back(verb, person, request_id, digest)

    outcome = perform(person.tenant_id, work, once=once)
    if isinstance(outcome, Problem):
        raise outcome
    return outcome


def _take_back(
    verb: Verb, person: Person, request_id: UUID, digest: bytes
) -> Request | Problem:
    case = open_case(verb, person, request_id)
    over = closed(case)
    if over is not None:
        return over
    if digest != bytes(case.revision.digest):
        raise DIGEST_CHANGED("What you answered is not what is asked any more.")
    _end(case, _counting_answer(case))
    verb.changed(case.request.id, case.request.run_id, case.request.queue_id)
    return case.request


def _counting_answer(case: Case) -> Decision:
    """The one that counts; a person has one at most, whoever gave it."""
    given = _given(case)
    counts = next((one for one in given if one.dismissed_at is None), None)
    if counts is not None:
        return counts
    if given:
        raise TAKEN_BACK("It counts no more; you can answer again.")
    raise NOT_ANSWERED("You have not answered what is asked now.")


def _given(case: Case) -> QuerySet[Decision]:
    me = case.member.id
    own = Q(member_id=me) | Q(on_behalf_of_id=me)
    return Decision.objects.filter(own, revision_id=case.revision.id)


def _end(case: Case, answer: Decision) -> None:
    update_exactly_one(
        Decision.objects.filter(id=answer.id, dismissed_at=None),
        dismissed_at=ClockTimestamp(),
        dismissed_reason=SAID,
        taken_back_by=case.member,
    )
    case.verb.record(
        "decision.taken_back",
        actor=case.person.actor,
        subject=("decision", answer.id),
        data={
            "request": str(case.request.id),
            "revision": case.revision.number,
            "digest": bytes(case.revision.digest).hex(),
            "verdict": answer.verdict,
        },
    )
