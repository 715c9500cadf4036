"""Ending browser sessions whose ground is gone.

Each request asks for the rows again, so none of them opens anything by then; this takes
them away as well.
"""

from collections.abc import Iterable
from uuid import UUID

from allauth.usersessions.models import UserSession

from tenants.access import DOOR, memberships
from tenants.models import ExternalIdentity, Member, User


def end_sessions_by(identities: Iterable[UUID]) -> None:
    """Those that began with one of these external identities."""
    named = [str(identity) for identity in identities]
    for session in UserSession.objects.filter(**{f"data__{DOOR}__in": named}):
        session.end()


def end_sessions_of(member: Member) -> None:
    """Of a member who was deactivated: all that lead nowhere else."""
    user = User.objects.get(id=member.user_id)
    rows = UserSession.objects.filter(user_id=user.id)
    living = [str(one) for each in memberships(user) for one in each.identities]
    if living or any(each.passwords for each in memberships(user)):
        rows = rows.filter(data__has_key=DOOR).exclude(**{f"data__{DOOR}__in": living})
    for session in rows:
        session.end()


def identities_of(tenant_id: UUID) -> list[UUID]:
    """The ids of all external identities of the tenant. Inside its scope."""
    rows = ExternalIdentity.objects.filter(tenant_id=tenant_id)
    return list(rows.values_list("id", flat=True))
