"""Guest auditors: people who look at everything for a while, and do nothing else.

They are members with the auditor's role and an end. It is looked at with the database's
clock wherever a membership is: with the next request after it, they are strangers. While
it lasts they hold no right on any queue, whatever group they are in.
"""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from kernel.clock import database_now
from kernel.problems import declare
from kernel.update import update_exactly_one
from tenants.checks import Acting, permitted
from tenants.idempotency import Once
from tenants.models import Member, Role
from tenants.services.change import change, own
from tenants.services.inviting import Invited, invite_member
from tenants.verbs import Verb

LONGEST: Final = timedelta(days=90)
GUEST_TIME: Final = declare(
    "guest_time_invalid", status=422, title="A guest comes for 1 to 90 days"
)
NO_GUEST: Final = declare(
    "not_a_guest", status=409, title="Only a guest's time can be extended"
)


def invite_guest(
    *, tenant_id: UUID, by: Acting, email: str, days: int, name: str = ""
) -> Invited:
    """Ask the person of that address to audit until so many days from now.

    Raises `guest_time_invalid` (422), and `already_so` (409) for who is a member, or was
    a guest: their time can be extended; and what `invite_member` raises.
    """
    return invite_member(
        tenant_id=tenant_id,
        by=by,
        email=email,
        name=name,
        role=Role.AUDITOR,
        until=_end(days),
    )


def extend_guest(
    *,
    tenant_id: UUID,
    by: Acting,
    member_id: UUID,
    days: int,
    once: Once | None = None,
) -> Member:
    """Let a guest stay, or come again, until so many days from now.

    Raises `not_a_guest` (409), `guest_time_invalid` (422).
    """

    def work(verb: Verb) -> Member:
        actor = permitted(tenant_id, by)
        member = own(Member, tenant_id, member_id)
        before, until = member.until, _end(days)
        if before is None:
            raise NO_GUEST()
        rows = Member.objects.filter(tenant_id=tenant_id, id=member_id, until=before)
        update_exactly_one(rows, until=until)
        member.until = until
        data = {"from": before.isoformat(), "to": until.isoformat()}
        subject = ("member", member_id)
        verb.record("member.guest_extended", actor=actor, subject=subject, data=data)
        return member

    return change(tenant_id, work, once=once)


def _end(days: int) -> datetime:
    if not timedelta(days=1) <= timedelta(days=days) <= LONGEST:
        raise GUEST_TIME()
    return database_now() + timedelta(days=days)
