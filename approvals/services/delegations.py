"""Naming who is asked instead, for a while: by the person themself, or for them.

It grants nothing: whoever stands in must be eligible themself, for each request anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from approvals.models import Delegation, Queue
from approvals.problems import DELEGATION_INVALID, NOT_FOUND
from audit.append import Actor
from kernel.clock import ClockTimestamp, database_now
from kernel.update import update_exactly_one
from sessions.redaction import redacted_text
from tenants.access import EVERYONE
from tenants.checks import Acting, Operator, permitted, permitted_role
from tenants.idempotency import Once
from tenants.models import Member, Role
from tenants.queries import active_member
from tenants.services.change import change, own
from tenants.verbs import Verb

LONGEST: Final = timedelta(days=366)
LONGEST_NOTE: Final = 300  # characters
MOST: Final = 20  # of one person, now and to come


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Who is away from when until when, and who is asked instead. No queues: all."""

    delegator_id: UUID
    delegate_id: UUID
    starts_at: datetime
    ends_at: datetime
    queues: Sequence[UUID] = ()
    note: str = ""


def make_delegation(
    *, tenant_id: UUID, by: Acting, leave: Leave, once: Once | None = None
) -> Delegation:
    """Begins at once where it should have begun before.

    Raises `delegation_invalid` (422) with a pointer, `not_found` (404), and
    `not_permitted` (403) for whoever is neither that person nor may administer them.
    """

    def work(verb: Verb) -> Delegation:
        actor = _permitted(tenant_id, by, leave.delegator_id)
        return _make(verb, actor, leave)

    return change(tenant_id, work, once=once)


def change_delegation(
    *, tenant_id: UUID, by: Acting, delegation_id: UUID, leave: Leave
) -> Delegation:
    """Another in its place: what was given under the former stays as it was.

    Raises as `make_delegation`, and `delegation_invalid` once it is over.
    """

    def work(verb: Verb) -> Delegation:
        actor, former = _found(tenant_id, by, delegation_id)
        if former.delegator_id != leave.delegator_id:
            raise NOT_FOUND()
        _end(verb, actor, former)
        return _make(verb, actor, leave, replaces=former)

    return change(tenant_id, work)


def end_delegation(*, tenant_id: UUID, by: Acting, delegation_id: UUID) -> None:
    """From now on; answers that were given under it are what they were.

    Raises as `change_delegation`.
    """

    def work(verb: Verb) -> None:
        actor, delegation = _found(tenant_id, by, delegation_id)
        _end(verb, actor, delegation)

    change(tenant_id, work)


def _permitted(tenant_id: UUID, by: Acting, delegator_id: UUID) -> Actor:
    """The person themself; or whoever may change their role."""
    if by == delegator_id:
        return permitted(tenant_id, by, roles=EVERYONE)
    permitted(tenant_id, by)
    delegator = own(Member, tenant_id, delegator_id)
    return permitted_role(tenant_id, by, Role(delegator.role))


def _own(id: UUID, by: Acting) -> Delegation | None:
    if by is Operator.CONSOLE:
        return None
    return Delegation.objects.filter(id=id, delegator_id=by).first()


def _found(tenant_id: UUID, by: Acting, id: UUID) -> tuple[Actor, Delegation]:
    """Whoever may not end it is answered the same, whether or not there is one."""
    own_one = _own(id, by)
    if own_one is not None:
        return permitted(tenant_id, by, roles=EVERYONE), own_one
    permitted(tenant_id, by)
    delegation = own(Delegation, tenant_id, id)
    return _permitted(tenant_id, by, delegation.delegator_id), delegation


def _make(
    verb: Verb, actor: Actor, leave: Leave, *, replaces: Delegation | None = None
) -> Delegation:
    now = database_now()
    _check_people(verb.tenant_id, leave, now)
    _check_times(leave, now)
    _check_rest(leave)
    made = Delegation.objects.create(
        tenant_id=verb.tenant_id,
        delegator_id=leave.delegator_id,
        delegate_id=leave.delegate_id,
        starts_at=max(leave.starts_at, now),
        ends_at=leave.ends_at,
        queues=sorted(set(leave.queues)),
        note=redacted_text(leave.note.strip(), verb.tenant_id),
    )
    _record(verb, actor, made, replaces)
    return made


def _check_people(tenant_id: UUID, leave: Leave, now: datetime) -> None:
    if leave.delegate_id == leave.delegator_id:
        raise DELEGATION_INVALID("Nobody stands in for themself.", "/delegate")
    if not _is_asked(tenant_id, leave.delegator_id):
        raise DELEGATION_INVALID("Whoever may not decide is not asked.", "/delegator")
    if not _is_asked(tenant_id, leave.delegate_id):
        raise DELEGATION_INVALID("Nobody active here has been chosen.", "/delegate")
    away = Delegation.objects.filter(
        delegator_id=leave.delegate_id,
        ended_at=None,
        starts_at__lt=leave.ends_at,
        ends_at__gt=max(leave.starts_at, now),
    )
    if away.exists():
        raise DELEGATION_INVALID(
            "They are on leave then, and it is not passed on.", "/delegate"
        )


def _is_asked(tenant_id: UUID, member_id: UUID) -> bool:
    """Guests never are."""
    member = active_member(tenant_id, member_id)
    return member is not None and member.until is None


def _check_times(leave: Leave, now: datetime) -> None:
    if leave.ends_at <= leave.starts_at:
        raise DELEGATION_INVALID("It ends before it begins.", "/until")
    if leave.ends_at <= now:
        raise DELEGATION_INVALID("That is over already.", "/until")
    if leave.ends_at - leave.starts_at > LONGEST:
        raise DELEGATION_INVALID(f"At most {LONGEST.days} days.", "/until")


def _check_rest(leave: Leave) -> None:
    if len(leave.note) > LONGEST_NOTE or "\0" in leave.note:
        raise DELEGATION_INVALID(f"At most {LONGEST_NOTE} characters.", "/note")
    known = Queue.objects.filter(id__in=leave.queues).count()
    if known != len(set(leave.queues)):
        raise DELEGATION_INVALID("There is no such queue.", "/queues")
    others = Delegation.objects.filter(delegator_id=leave.delegator_id, ended_at=None)
    if others.filter(ends_at__gt=ClockTimestamp()).count() >= MOST:
        raise DELEGATION_INVALID(f"At most {MOST} at a time: end one first.")


def _end(verb: Verb, actor: Actor, delegation: Delegation) -> None:
    """By whom, where a member did it. Raises `delegation_invalid` once it is over."""
    by = actor.id if actor.type == "member" else None
    rows = Delegation.objects.filter(id=delegation.id, ended_at=None)
    if not rows.filter(ends_at__gt=ClockTimestamp()).exists():
        raise DELEGATION_INVALID("It is over already.")
    update_exactly_one(rows, ended_at=ClockTimestamp(), ended_by_id=by)
    verb.record(
        "delegation.ended",
        actor=actor,
        subject=("delegation", delegation.id),
        data={
            "delegator": str(delegation.delegator_id),
            "delegate": str(delegation.delegate_id),
        },
    )
    _tell(verb)


def _record(
    verb: Verb, actor: Actor, made: Delegation, replaces: Delegation | None
) -> None:
    """Without the note, which is a person's words: the chain cannot forget them."""
    verb.record(
        "delegation.made",
        actor=actor,
        subject=("delegation", made.id),
        data={
            "delegator": str(made.delegator_id),
            "delegate": str(made.delegate_id),
            "starts_at": made.starts_at.isoformat(),
            "ends_at": made.ends_at.isoformat(),
            "queues": [str(one) for one in made.queues],
            "replaces": str(replaces.id) if replaces else None,
        },
    )
    _tell(verb)


def _tell(verb: Verb) -> None:
    """Lists say for whom a request waits, so all of them may have changed."""
    verb.changed(*Queue.objects.values_list("id", flat=True))
