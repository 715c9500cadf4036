"""A person answers one revision of one request."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from approvals.models import Decision, Request
from approvals.problems import EXPIRED, NOT_PENDING, RESPONSE_INVALID
from approvals.queries import counted_decisions
from approvals.separation import keys_for
from approvals.services.case import Answer, Case, open_case, record_decision
from approvals.services.editing import edit
from approvals.services.ending import end_request, expire
from approvals.services.granting import grant, move_request, owe_when_ready
from approvals.services.judging import judge_answer
from kernel.canonical import digest
from kernel.json_schema import check_formats, check_value
from kernel.problems import Problem, check_all
from kernel.secrets import refuse_secret
from sessions.redaction import redacted_text
from tenants.idempotency import Once
from tenants.principal import Person
from tenants.verbs import Verb, perform

V = Decision.Verdict
RESPONSE_DOMAIN: Final = "keyturn/response/v1"


def decide(
    person: Person, *, request_id: UUID, answer: Answer, once: Once | None = None
) -> Request:
    """Record one person's answer and all that follows from it, or refuse.

    Raises `not_found`, `not_permitted`, `own_request`, `not_eligible`,
    `not_standing_in`, `already_decided`, `digest_changed`, `expired`, `answered_before`,
    `verdict_not_allowed`, `reason_needed`, `reauthentication_needed`,
    `response_invalid`, `arguments_invalid`, `arguments_unchanged`,
    `secret_in_arguments`.
    """

    def work(verb: Verb) -> Request | Problem:
        return _decide(verb, person, request_id, answer)

    outcome = perform(person.tenant_id, work, once=once)
    if isinstance(outcome, Problem):
        raise outcome
    return outcome


def _decide(
    verb: Verb, person: Person, request_id: UUID, answer: Answer
) -> Request | Problem:
    case = open_case(verb, person, request_id)
    over = closed(case)
    if over is not None:
        return over
    answer = _without_secrets(case, answer)
    judge_answer(case, answer)
    ANSWERS[answer.verdict](case, answer)
    owe_when_ready(verb, case.request.pause_id, case.now)
    verb.changed(case.request.id, case.request.run_id, case.request.queue_id)
    return case.request


def closed(case: Case) -> Problem | None:
    """Why no answer is taken any more; found to be late, the request has expired."""
    if case.request.state != Request.State.PENDING:
        raise NOT_PENDING(f"This is {case.request.state}.", state=case.request.state)
    if case.request.due_at is None or case.now >= case.request.due_at:
        expire(case.verb, case.request, case.now)
        return EXPIRED("It expired before this answer arrived. Nothing was sent.")
    return None


def _without_secrets(case: Case, answer: Answer) -> Answer:
    """The reason is kept without them; an answer is never rewritten."""
    refuse_secret(answer.response, "/response")
    return replace(answer, reason=redacted_text(answer.reason, case.request.tenant_id))


def _approve(case: Case, answer: Answer) -> None:
    record_decision(case, answer)
    approvals = keys_for(counted_decisions(case.revision), V.APPROVE)
    if case.standing.satisfied_by(approvals):
        grant(case.verb, case.request, case.revision, case.envelope, case.now)


def _reject(case: Case, answer: Answer) -> None:
    record_decision(case, answer)
    denials = keys_for(counted_decisions(case.revision), V.REJECT)
    rules = case.envelope.obligation.rules
    needed = min((rule.denials for rule in rules), default=1)
    if len(denials) >= needed:
        state = Request.State.REJECTED
        end_request(case.verb, case.request, state, case.now, answer.reason)


def _respond(case: Case, answer: Answer) -> None:
    """An answer instead of the action: the same rules, the same answer, no grant."""
    schema, wrong = case.request.response_schema, RESPONSE_INVALID
    if schema:
        told: dict[str, Any] = {"pointer": "/response", "kind": wrong}
        check_all(
            lambda: check_value(schema, answer.response, **told),
            lambda: check_formats(schema, answer.response, **told),
        )
    record_decision(case, answer)
    said = digest(RESPONSE_DOMAIN, answer.response)
    same = [
        one
        for one in counted_decisions(case.revision)
        if one.verdict == V.RESPOND and digest(RESPONSE_DOMAIN, one.response) == said
    ]
    if case.standing.satisfied_by(keys_for(same, V.RESPOND)):
        Request.objects.filter(id=case.request.id).update(response=answer.response)
        state = Request.State.ANSWERED
        end_request(case.verb, case.request, state, case.now, answer.reason)


def _request_changes(case: Case, answer: Answer) -> None:
    record_decision(case, answer)
    move_request(
        case.request, Request.State.CHANGES_REQUESTED, resolution=answer.reason
    )


ANSWERS: Final[dict[str, Callable[[Case, Answer], None]]] = {
    V.APPROVE: _approve,
    V.EDIT: edit,
    V.REJECT: _reject,
    V.RESPOND: _respond,
    V.REQUEST_CHANGES: _request_changes,
}
