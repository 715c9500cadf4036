"""People: who belongs to a tenant, and in which role."""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError

from audit.append import Actor
from kernel.problems import declare
from kernel.update import update_exactly_one
from tenants.checks import Acting, permitted_role
from tenants.idempotency import Once
from tenants.models import Member, Role, Tenant, User
from tenants.queries import active_owners
from tenants.services.change import change, own, rule_broken
from tenants.services.names import checked_email, checked_name
from tenants.services.sessions import end_sessions_of
from tenants.verbs import Verb

LAST_OWNER: Final = declare(
    "last_owner", status=409, title="A tenant always keeps one active owner"
)

GUESTS_AUDIT: Final = declare(
    "guests_audit", status=409, title="A guest has no role but the auditor's"
)


def add_user(*, email: str, name: str, password: str | None = None) -> User:
    """Create a sign-in identity. It grants nothing and belongs to no tenant.

    For the console: `email_taken` (409) tells whether an address is known here.
    """
    try:
        user = person(email=email, name=name, password=password)
        user.save(force_insert=True)
    except IntegrityError as error:
        raise rule_broken(error) from error
    return user


def add_member(
    *, tenant_id: UUID, by: Acting, user_id: UUID, role: Role, once: Once | None = None
) -> Member:
    """Make a user a member under their own name, unasked: for installations' own seeds.

    The second active member ends `solo` for good. Raises `already_so` (409) if they are
    one, active or not.
    """

    def work(verb: Verb) -> Member:
        actor = permitted_role(tenant_id, by, role)
        user = User.objects.get(id=user_id)
        return admit(verb, actor=actor, user=user, role=role, name=user.name)

    return change(tenant_id, work, once=once)


def change_role(
    *,
    tenant_id: UUID,
    by: Acting,
    member_id: UUID,
    role: Role,
    once: Once | None = None,
) -> Member:
    """Give a member another role. Raises `last_owner` (409) for the only owner."""

    def work(verb: Verb) -> Member:
        member = own(Member, tenant_id, member_id)
        former = Role(member.role)
        if member.until is not None:
            raise GUESTS_AUDIT()
        actor = permitted_role(tenant_id, by, former, role)
        _keep_an_owner(member, unless=role is Role.OWNER)
        _update(member, role=former, to={"role": role})
        data = {"from": former.value, "to": role.value}
        _record(verb, "member.role_changed", actor, member, data)
        return member

    return change(tenant_id, work, once=once)


def deactivate_member(
    *, tenant_id: UUID, by: Acting, member_id: UUID, once: Once | None = None
) -> Member:
    """End a member's rights at once. Raises `last_owner` (409) for the only owner."""

    def work(verb: Verb) -> Member:
        member = own(Member, tenant_id, member_id)
        actor = permitted_role(tenant_id, by, Role(member.role))
        _keep_an_owner(member)
        _update(member, active=True, to={"active": False})
        _record(verb, "member.deactivated", actor, member)
        verb.after_commit(lambda: end_sessions_of(member))
        return member

    return change(tenant_id, work, once=once)


def reactivate_member(
    *, tenant_id: UUID, by: Acting, member_id: UUID, once: Once | None = None
) -> Member:
    """Give a member their rights back, in the role that they had."""

    def work(verb: Verb) -> Member:
        member = own(Member, tenant_id, member_id)
        actor = permitted_role(tenant_id, by, Role(member.role))
        _end_solo(verb, actor)
        _update(member, active=False, to={"active": True})
        _record(verb, "member.reactivated", actor, member)
        return member

    return change(tenant_id, work, once=once)


def person(*, email: str, name: str, password: str | None = None) -> User:
    """A user that is not saved yet; hashing the password takes its time before that."""
    return User(
        email=checked_email(email),
        name=checked_name(name, most=200),
        password=make_password(password),
    )


def admit(
    verb: Verb,
    *,
    actor: Actor,
    user: User,
    role: Role,
    name: str,
    until: datetime | None = None,
) -> Member:
    """Add a member, or a guest `until` then, inside a verb that has checked the right to."""
    _end_solo(verb, actor)
    member = Member.objects.create(
        tenant_id=verb.tenant_id, user=user, role=role, name=name, until=until
    )
    data = {"user": str(user.id), "role": role.value}
    if until is not None:
        data["until"] = until.isoformat()
    _record(verb, "member.added", actor, member, data)
    return member


def _keep_an_owner(member: Member, *, unless: bool = False) -> None:
    if unless or member.role != Role.OWNER or not member.active:
        return
    if not active_owners(member.tenant_id).exclude(id=member.id).exists():
        raise LAST_OWNER()


def _end_solo(verb: Verb, actor: Actor) -> None:
    """Before one more is active: nobody is alone any longer, and so nothing is waived."""
    if not Member.objects.filter(tenant_id=verb.tenant_id, active=True).exists():
        return
    solo = Tenant.objects.filter(id=verb.tenant_id, solo=True)
    if solo.update(solo=False):
        subject = ("tenant", verb.tenant_id)
        verb.record("tenant.solo_ended", actor=actor, subject=subject)


def _update(member: Member, *, to: dict[str, object], **was: object) -> None:
    rows = Member.objects.filter(tenant_id=member.tenant_id, id=member.id, **was)
    update_exactly_one(rows, **to)
    for name, value in to.items():
        setattr(member, name, value)


def _record(
    verb: Verb,
    kind: str,
    actor: Actor,
    member: Member,
    data: dict[str, str] | None = None,
) -> None:
    verb.record(kind, actor=actor, subject=("member", member.id), data=data)
