"""The agent answers a request for changes, or takes its question back."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from approvals.envelope import Envelope
from approvals.models import Grant, Request
from approvals.problems import (
    ENVIRONMENT_DIFFERS,
    NOT_FOUND,
    NOT_PENDING,
    NOT_REVISABLE,
    TOO_LATE,
)
from approvals.queries import current_revision, live_grant
from approvals.services.asking import check_arguments
from approvals.services.editing import revise_in
from approvals.services.ending import dismiss_decisions, end_request, expire
from approvals.services.granting import end_grant, end_jobs, owe_when_ready
from approvals.services.pace import count
from approvals.services.scene import lock_scene_of, scene_of
from approvals.states import LIVE
from checkpoints.models import Tool
from kernel.clock import database_now
from kernel.problems import Problem
from sessions.redaction import redacted_text
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.services.quotas import require_room
from tenants.verbs import Verb, perform


def revise(
    principal: Principal,
    *,
    request_id: UUID,
    arguments: dict[str, Any],
    explanation: str = "",
    once: Once | None = None,
) -> Request:
    """New arguments in answer to "changes requested". Raises `not_revisable`."""

    def work(verb: Verb) -> Request | Problem:
        request = lock_own(principal, request_id)
        if request.state != Request.State.CHANGES_REQUESTED:
            return NOT_REVISABLE(f"The request is {request.state}.")
        return _revise(verb, principal, request, arguments, explanation)

    return _raised(perform(principal.tenant_id, work, once=once))


def _revise(
    verb: Verb,
    principal: Principal,
    request: Request,
    arguments: dict[str, Any],
    explanation: str,
) -> Request | Problem:
    require_room(principal.agent_id, 1)
    now = database_now()
    if request.due_at is None or now >= request.due_at:
        expire(verb, request, now)
        return NOT_REVISABLE("The time to decide is over.")
    tool = Tool.objects.get(id=request.tool_id)
    check_arguments(tool, arguments, pointer="/arguments")
    old = current_revision(request)
    dismiss_decisions(verb, old, "The agent answered with a new revision.")
    if explanation:
        Request.objects.filter(id=request.id).update(explanation=explanation)
    revise_in(
        verb,
        scene_of(request, now),
        request,
        tool,
        Envelope(bytes(old.envelope)),
        arguments=arguments,
        author=principal.actor,
        reason="",
    )
    owe_when_ready(verb, request.pause_id, now)
    count(verb, principal, [request])
    return request


def withdraw(
    principal: Principal, *, request_id: UUID, reason: str, once: Once | None = None
) -> Request:
    """The agent no longer wants it.

    Raises `too_late` once it was executed, `already_decided` when it ended otherwise.
    """

    def work(verb: Verb) -> Request | Problem:
        request = lock_own(principal, request_id)
        if request.state not in LIVE | {Request.State.CANCELLED}:
            return _not_open(request)
        return _withdraw(verb, principal, request, reason)

    return _raised(perform(principal.tenant_id, work, once=once))


def take_back(
    principal: Principal,
    *,
    request_ids: Sequence[UUID],
    unwanted: Collection[UUID],
    reason: str,
    place: str,
    once: Once | None = None,
) -> list[Request]:
    """Of the agent's own requests withdraw those that are `unwanted`: all, or none.

    One that ended otherwise stays as it is. Returns all of them, in their order. Raises
    `not_found`, `environment_differs`, and `too_late` once one was executed. `place` is
    the pointer of one of them in the body, by its number.
    """

    def work(verb: Verb) -> list[Request]:
        found: dict[UUID, Request] = {}
        for id in _in_order(principal, request_ids, place):
            request = found[id] = lock_own(principal, id)
            if id in unwanted and request.state == Request.State.CONSUMED:
                where = place.format(request_ids.index(id))
                raise TOO_LATE("It was executed before it was taken back.", where)
            if id in unwanted and request.state in LIVE:
                _withdraw(verb, principal, request, reason)
        return [found[id] for id in request_ids]

    return perform(principal.tenant_id, work, once=once)


def _in_order(principal: Principal, ids: Sequence[UUID], place: str) -> list[UUID]:
    """Runs are locked before their requests, each kind in the order of its ids."""
    own = Request.objects.filter(id__in=ids, agent_id=principal.agent_id)
    runs = dict(own.values_list("id", "run_id"))
    for index, id in enumerate(ids):
        if id not in runs:
            raise NOT_FOUND("No such request.", place.format(index))
    return sorted(runs, key=lambda id: (runs[id], id))


def _withdraw(
    verb: Verb, principal: Principal, request: Request, reason: str
) -> Request:
    if request.state == Request.State.CANCELLED:
        return request
    why = redacted_text(reason, principal.tenant_id)
    _end_live_grant(verb, principal, request, why)
    end_request(
        verb,
        request,
        Request.State.CANCELLED,
        database_now(),
        why,
        actor=principal.actor,
    )
    return request


def _not_open(request: Request) -> Problem:
    if request.state == Request.State.CONSUMED:
        return TOO_LATE("It was executed before it was taken back.")
    return NOT_PENDING(f"The request is {request.state}.", state=request.state)


def _end_live_grant(
    verb: Verb, principal: Principal, request: Request, reason: str
) -> None:
    grant = live_grant(request.id)
    if grant is not None:
        end_grant(
            verb, grant, Grant.State.REVOKED, actor=principal.actor, reason=reason
        )
        end_jobs(request, "withdrawn")


def lock_own(principal: Principal, request_id: UUID) -> Request:
    """The agent's own request, locked; anyone else's does not exist.

    Raises `not_found`, and `environment_differs` (409) for a key of another environment.
    """
    require_environment(principal, request_id)
    return lock_scene_of(request_id)


def require_environment(principal: Principal, request_id: UUID) -> None:
    """What was asked with a key for tests is nothing to a key for production.

    Policy judged it for that environment. Nothing changes: the right key may go on.
    Raises as `lock_own`.
    """
    own = Request.objects.filter(id=request_id, agent_id=principal.agent_id)
    asked_in = own.values_list("key__environment", flat=True).first()
    if asked_in is None:
        raise NOT_FOUND("No such request.")
    if asked_in != principal.environment:
        raise ENVIRONMENT_DIFFERS(f"It was asked in {asked_in}.")


def _raised[T](outcome: T | Problem) -> T:
    """A refusal commits what it recorded, and only then is raised."""
    if isinstance(outcome, Problem):
        raise outcome
    return outcome
