"""Load and authorise in one call: a person's memberships, straight from the rows.

Nothing here trusts `is_superuser`, `has_perm` or an object loaded earlier: a person
has the rights of their active memberships at this moment, and no others. Whoever is
not a member gets the answer of something that does not exist.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db import connection

from kernel.problems import NOT_FOUND, declare
from tenants.models import Role, User

NOT_PERMITTED: Final = declare(
    "not_permitted", status=403, title="You have no right to do this"
)

EVERYONE: Final = frozenset(Role)
OWNERS: Final = frozenset({Role.OWNER})
ADMINISTRATORS: Final = frozenset({Role.OWNER, Role.ADMIN})
OVERSEERS: Final = frozenset({Role.OWNER, Role.ADMIN, Role.AUDITOR})
# Recovery codes stand in for one of these, and are none by themselves.
SECOND_FACTORS: Final = frozenset({"totp", "webauthn"})

# The object at hand may have been loaded before the person was deactivated.
_MEMBERSHIPS = """
    SELECT m.tenant_id, m.slug, m.name, m.member_id, m.role,
      ARRAY(SELECT f.type FROM mfa_authenticator f WHERE f.user_id = u.id)
    FROM tenants_user u CROSS JOIN LATERAL keyturn_memberships(u.id) m
    WHERE u.id = %s AND u.is_active ORDER BY m.name, m.tenant_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """One person's place in one tenant, as it was a moment ago.

    Good for showing pages. A verb reads the member again, under the tenant's gate.
    """

    tenant_id: UUID
    slug: str
    tenant_name: str
    member_id: UUID
    user_id: UUID
    role: Role
    factors: frozenset[str] = frozenset()
    """The kinds of second factor that the person has: `totp`, `webauthn`."""

    @property
    def administers(self) -> bool:
        """May change people, agents, keys, queues, tools and policies."""
        return self.role in ADMINISTRATORS

    @property
    def oversees(self) -> bool:
        """May see every session of the tenant, and its audit log."""
        return self.role in OVERSEERS


def memberships(user: User | AnonymousUser) -> list[Membership]:
    """The active memberships of a signed-in, active person, by the tenant's name."""
    if not isinstance(user, User):
        return []
    with connection.cursor() as cursor:
        cursor.execute(_MEMBERSHIPS, [user.pk])
        return [
            Membership(
                tenant_id=tenant_id,
                slug=slug,
                tenant_name=name,
                member_id=member_id,
                user_id=user.pk,
                role=Role(role),
                factors=SECOND_FACTORS & set(factors),
            )
            for tenant_id, slug, name, member_id, role, factors in cursor.fetchall()
        ]


def member_in(user: User | AnonymousUser, slug: str) -> Membership:
    """The person's membership in the tenant of that slug.

    Raises `Problem` `not_found` (404) for strangers and for tenants that do not exist.
    """
    for membership in memberships(user):
        if membership.slug == slug:
            return membership
    raise NOT_FOUND()


def any_tenant() -> bool:
    """Whether this installation has a tenant at all."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT keyturn_any_tenant()")
        return bool(cursor.fetchone()[0])
