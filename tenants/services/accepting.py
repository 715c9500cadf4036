"""Accepting an invitation: the one way in, by the invited person alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import Q

from audit.append import Actor
from kernel.clock import database_now
from kernel.problems import declare
from kernel.scope import tenant_transaction
from tenants.models import Group, Invitation, Member, Role, User
from tenants.queries import is_known_here
from tenants.services.admission import require_maker, require_running
from tenants.services.change import ALREADY_SO, change
from tenants.services.groups import join_group
from tenants.services.inviting import digest_of
from tenants.services.names import checked_name
from tenants.services.people import admit, person
from tenants.verbs import Verb

ENDED: Final = declare(
    "invitation_ended", status=410, title="This invitation does not stand any more"
)
NOT_THEIRS: Final = declare(
    "invitation_of_another", status=403, title="This invitation is for somebody else"
)


type Joins = Callable[[], User]
"""Finds the person who joins, or makes them one who can sign in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What an invitation offers, for whoever holds its link."""

    tenant_id: UUID
    tenant_name: str
    slug: str
    email: str
    name: str
    role: Role

    def is_for(self, user: User | AnonymousUser) -> bool:
        return isinstance(user, User) and user.email == self.email


def offer_of(token: str) -> Offer:
    """What the link offers now. Raises `invitation_ended` (410), whyever it opens nothing."""
    tenant_id = _tenant_of(token)
    with tenant_transaction(tenant_id):
        invitation = _standing(token)
        tenant = invitation.tenant
        return Offer(
            tenant_id=tenant_id,
            tenant_name=tenant.name,
            slug=tenant.slug,
            email=invitation.email,
            name=invitation.name,
            role=Role(invitation.role),
        )


def accept_invitation(*, token: str, user_id: UUID, name: str) -> Member:
    """Become a member, as who is signed in, called `name` here.

    Raises `invitation_ended` (410), `invitation_of_another` (403) for anybody but the
    person of the invited address, `name_invalid` (422), and `already_so` (409).
    """
    called = checked_name(name, most=200)
    return _accepted(token, lambda: User.objects.get(id=user_id), called)


def accept_as_newcomer(*, token: str, name: str, password: str) -> Member:
    """Become a user with the invited address, and a member, in one step.

    Raises `email_taken` (409) for who has signed in before: they do so now and accept;
    and what `accept_invitation` raises.
    """
    offer = offer_of(token)
    newcomer = person(email=offer.email, name=name, password=password)

    def join() -> User:
        newcomer.save(force_insert=True)
        return newcomer

    return _accepted(token, join, newcomer.name)


def _accepted(token: str, whoever: Joins, name: str) -> Member:
    tenant_id = _tenant_of(token)

    def work(verb: Verb) -> Member:
        invitation = _standing(token)
        require_running(tenant_id)
        role, by = Role(invitation.role), invitation.invited_by_id
        require_maker(tenant_id, by, role, ENDED)
        user = whoever()
        if not (user.is_active and user.email == invitation.email):
            raise NOT_THEIRS()
        if is_known_here(tenant_id, invitation.email):
            raise ALREADY_SO("Somebody with this address is a member here already.")
        _use_up(invitation)
        return _admitted(verb, invitation, user, name)

    return change(tenant_id, work)


def _admitted(verb: Verb, invitation: Invitation, user: User, name: str) -> Member:
    actor = Actor("user", user.id)
    subject = ("invitation", invitation.id)
    verb.record("invitation.accepted", actor=actor, subject=subject)
    role = Role(invitation.role)
    member = admit(
        verb, actor=actor, user=user, role=role, name=name, until=invitation.until
    )
    for group in Group.objects.filter(id__in=invitation.groups).order_by("id"):
        join_group(verb, actor=actor, group=group, member_id=member.id)
    return member


def _use_up(invitation: Invitation) -> None:
    """Once: the row is what is used, and the gate is closed."""
    rows = Invitation.objects.filter(id=invitation.id, serial=invitation.serial)
    if rows.delete()[0] != 1:
        raise ENDED()


def _standing(token: str) -> Invitation:
    rows = Invitation.objects.select_related("tenant")
    now = database_now()
    rows = rows.filter(Q(until=None) | Q(until__gt=now))
    rows = rows.filter(link=digest_of(token), expires_at__gt=now)
    invitation = rows.first()
    if invitation is None:
        raise ENDED("Ask for another one.")
    return invitation


def _tenant_of(token: str) -> UUID:
    with connection.cursor() as cursor:
        cursor.execute("SELECT keyturn_invitation_tenant(%s)", [digest_of(token)])
        tenant: UUID | None = cursor.fetchone()[0]
    if tenant is None:
        raise ENDED("Ask for another one.")
    return tenant
