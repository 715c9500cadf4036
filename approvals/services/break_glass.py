"""A person approves alone, in an emergency, where every policy permits it."""

from math import ceil
from uuid import UUID

from django.db.models import Q

from approvals.glass import (
    BROKEN,
    RIGHT,
    freshness,
    glass_side,
    owed_now,
    permits,
)
from approvals.models import Decision, Request
from approvals.problems import (
    ANSWERED_BEFORE,
    DIGEST_CHANGED,
    GLASS_SEALED,
    NO_RIGHT,
    OWN_REQUEST,
    REASON_NEEDED,
    REAUTHENTICATE,
    VERDICT_NOT_ALLOWED,
)
from approvals.queries import counted_decisions, kept_answers
from approvals.separation import is_solo, keys_for
from approvals.services.case import Answer, Case, Sight, open_case, record_decision
from approvals.services.decide import closed
from approvals.services.granting import grant, owe_when_ready
from kernel.problems import Problem
from sessions.redaction import redacted_text
from sessions.vault import session_fingerprint
from tenants.idempotency import Once
from tenants.principal import Person
from tenants.verbs import Verb, perform

V = Decision.Verdict


def break_glass(
    person: Person,
    *,
    request_id: UUID,
    digest: bytes,
    reason: str,
    once: Once | None = None,
) -> Request:
    """Approve what was on the screen, without the other keys that it needs.

    Raises `not_found`, `not_permitted`, `glass_sealed`, `own_request`,
    `already_decided`, `expired`, `digest_changed`, `verdict_not_allowed`,
    `answered_before`, `reason_needed`, `reauthentication_needed`.
    """

    def work(verb: Verb) -> Request | Problem:
        return _break(verb, person, request_id, digest, reason)

    outcome = perform(person.tenant_id, work, once=once)
    if isinstance(outcome, Problem):
        raise outcome
    return outcome


def _break(
    verb: Verb, person: Person, request_id: UUID, digest: bytes, reason: str
) -> Request | Problem:
    case = open_case(verb, person, request_id)
    if RIGHT not in case.rights:
        raise NO_RIGHT("You may not break the glass on this queue.")
    over = closed(case)
    if over is not None:
        return over
    judge_breaking(case, digest=digest, reason=reason)
    said = redacted_text(reason.strip(), case.request.tenant_id)
    answer = Answer(verdict=V.APPROVE, digest=digest, reason=said)
    _record(case, record_decision(case, answer, broke_glass=True))
    grant(verb, case.request, case.revision, case.envelope, case.now)
    owe_when_ready(verb, case.request.pause_id, case.now)
    verb.changed(case.request.id, case.request.run_id, case.request.queue_id)
    return case.request


def judge_breaking(case: Sight, *, digest: bytes, reason: str) -> None:
    """Whether this person may, as things stand. Raises as `break_glass`."""
    if RIGHT not in case.rights:
        raise NO_RIGHT("You may not break the glass on this queue.")
    if digest != bytes(case.revision.digest):
        raise DIGEST_CHANGED("Read it again: what you answered is not what is asked.")
    if V.APPROVE not in case.request.allowed:
        raise VERDICT_NOT_ALLOWED("approve is not offered.", "/verdict")
    pinned, now = case.envelope.obligation, owed_now(case.request, case.envelope)
    if not (permits(pinned) and permits(now)):
        raise GLASS_SEALED("Every policy that is about it would have to.")
    if is_solo(case.request.tenant_id):
        raise GLASS_SEALED("There is nobody who could look into it afterwards.")
    if case.member.id in glass_side(
        case.request, case.revision, case.envelope, pinned, now
    ):
        raise OWN_REQUEST("You are on the side that asks.")
    _check_own_answers(case)
    if not reason.strip():
        raise REASON_NEEDED("Say why it cannot wait; it is looked into.", "/reason")
    _check_fresh(case, freshness(pinned, now))


def _check_own_answers(case: Sight) -> None:
    """Whoever has turned a key may go on to break the glass; nobody else who answered.

    What was answered on their behalf is their answer as well.
    """
    me = case.member.id
    own = kept_answers(case.revision).filter(Q(member_id=me) | Q(on_behalf_of_id=me))
    if own.exclude(verdict=V.APPROVE).exists():
        raise ANSWERED_BEFORE("Your answer to this revision stands.")


def _check_fresh(case: Sight, seconds: int) -> None:
    ago = case.person.authenticated_ago
    if ago is None or ago > seconds:
        raise REAUTHENTICATE(f"Your sign-in must be newer than {seconds} seconds.")


def _record(case: Case, decision: Decision) -> None:
    """What was lifted, and how the person proved who they are: signed, to be compared."""
    assert case.person.authenticated_ago is not None
    agreed = keys_for(counted_decisions(case.revision), V.APPROVE)
    about = case.request
    case.verb.record(
        BROKEN,
        actor=case.person.actor,
        subject=("request", about.id),
        data={
            "decision": str(decision.id),
            "member": str(case.member.id),
            "revision": case.revision.number,
            "digest": bytes(case.revision.digest).hex(),
            "authenticated_ago": ceil(case.person.authenticated_ago),
            "methods": list(case.person.methods),
            "keys_missing": case.standing.missing_with(agreed),
            "reason": session_fingerprint(
                about.tenant_id, about.session_id, decision.reason.encode()
            ),
        },
    )
