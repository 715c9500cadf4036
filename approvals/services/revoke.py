"""Taking an approval back, which is legal until the moment it is consumed."""

from uuid import UUID

from approvals.models import Grant, Request
from approvals.problems import NO_RIGHT, NOT_APPROVED, TOO_LATE
from approvals.queries import live_grant
from approvals.services.case import open_case
from approvals.services.ending import dismiss_decisions, end_request
from approvals.services.granting import end_grant, end_jobs
from sessions.redaction import redacted_text
from tenants.idempotency import Once
from tenants.principal import Person
from tenants.verbs import Verb, perform


def revoke(
    person: Person, *, request_id: UUID, reason: str, once: Once | None = None
) -> Request:
    """End the live grant; nothing will be sent under it.

    Raises `not_found`, `not_permitted`, `not_approved`, and `too_late` when the
    action has been executed.
    """

    def work(verb: Verb) -> Request:
        case = open_case(verb, person, request_id)
        if "decide" not in case.rights:
            raise NO_RIGHT("You see this queue but do not decide on it.")
        if case.request.state == Request.State.CONSUMED:
            raise TOO_LATE("It was executed before you revoked it.")
        grant = live_grant(request_id)
        if grant is None or case.request.state != Request.State.APPROVED:
            raise NOT_APPROVED(f"The request is {case.request.state}.")
        why = redacted_text(reason, person.tenant_id)
        end_grant(verb, grant, Grant.State.REVOKED, actor=person.actor, reason=why)
        end_jobs(case.request, "revoked")
        dismiss_decisions(verb, case.revision, f"Revoked: {why}")
        end_request(
            verb,
            case.request,
            Request.State.REVOKED,
            case.now,
            why,
            actor=person.actor,
        )
        return case.request

    return perform(person.tenant_id, work, once=once)
