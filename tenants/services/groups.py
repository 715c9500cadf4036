"""Groups: people who are given the rights on a queue together."""

from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group as DjangoGroup
from django.db.models import QuerySet

from audit.append import Actor
from kernel.ids import new_id
from tenants.checks import Acting, permitted
from tenants.idempotency import Once
from tenants.models import Group, Member, User
from tenants.services.change import ALREADY_SO, change, own
from tenants.services.names import checked_name
from tenants.verbs import Verb


def create_group(
    *, tenant_id: UUID, by: Acting, name: str, once: Once | None = None
) -> Group:
    """Create an empty group. Raises `name_taken` (409) within the tenant."""

    def work(verb: Verb) -> Group:
        return form_group(verb, actor=permitted(tenant_id, by), name=name)

    return change(tenant_id, work, once=once)


def add_to_group(
    *,
    tenant_id: UUID,
    by: Acting,
    group_id: UUID,
    member_id: UUID,
    once: Once | None = None,
) -> None:
    """Put a member into a group. Raises `already_so` (409) if they are in it."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        group = own(Group, tenant_id, group_id)
        join_group(verb, actor=actor, group=group, member_id=member_id)

    change(tenant_id, work, once=once)


def remove_from_group(
    *,
    tenant_id: UUID,
    by: Acting,
    group_id: UUID,
    member_id: UUID,
    once: Once | None = None,
) -> None:
    """Take a member out of a group. Raises `already_so` (409) if they are not in it."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        group = own(Group, tenant_id, group_id)
        leave_group(verb, actor=actor, group=group, member_id=member_id)

    change(tenant_id, work, once=once)


def form_group(verb: Verb, *, actor: Actor, name: str) -> Group:
    """Create a group inside a verb that has checked the right to."""
    opaque = DjangoGroup.objects.create(name=new_id().hex)
    group = Group.objects.create(
        tenant_id=verb.tenant_id, name=checked_name(name), django_group=opaque
    )
    subject = ("group", group.id)
    verb.record(
        "group.created", actor=actor, subject=subject, data={"name": group.name}
    )
    return group


def join_group(verb: Verb, *, actor: Actor, group: Group, member_id: UUID) -> None:
    """Put a member into a group inside a verb that has checked the right to."""
    member = own(Member, verb.tenant_id, member_id)
    users = _users(group)
    if users.filter(user_id=member.user_id).exists():
        raise ALREADY_SO()
    users.create(user_id=member.user_id, group_id=group.django_group_id)
    _record(verb, "group.member_added", actor, group, member)


def leave_group(verb: Verb, *, actor: Actor, group: Group, member_id: UUID) -> None:
    """Take a member out of a group inside a verb that has checked the right to."""
    member = own(Member, verb.tenant_id, member_id)
    if not _users(group).filter(user_id=member.user_id).delete()[0]:
        raise ALREADY_SO()
    _record(verb, "group.member_removed", actor, group, member)


def _users(group: Group) -> QuerySet[Any]:
    return User.groups.through.objects.filter(group_id=group.django_group_id)


def _record(verb: Verb, kind: str, actor: Actor, group: Group, member: Member) -> None:
    data = {"member": str(member.id)}
    verb.record(kind, actor=actor, subject=("group", group.id), data=data)
