"""Load and authorise in one call: a person's memberships, straight from the rows.

Nothing here trusts `is_superuser`, `has_perm` or an object loaded earlier: a person
has the rights of their active memberships at this moment, and no others. Whoever is
not a member gets the answer of something that does not exist.
"""

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.http import HttpRequest

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

DOOR: Final = "external_identity"  # of a session: the identity by which it began

# The object at hand may have been loaded before the person was deactivated.
_MEMBERSHIPS = """
    SELECT m.tenant_id, m.slug, m.name, m.member_id, m.role,
      ARRAY(SELECT f.type FROM mfa_authenticator f WHERE f.user_id = u.id),
      e.passwords, e.identities
    FROM tenants_user u CROSS JOIN LATERAL keyturn_memberships(u.id) m
    JOIN LATERAL keyturn_entrances(u.id) e ON e.tenant_id = m.tenant_id
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
    """The kinds of second factor that prove who it is here: `totp`, `webauthn`."""
    passwords: bool = True
    """Whether a password opens the tenant at all."""
    identities: frozenset[UUID] = frozenset()
    """The external identities by which this member may enter."""
    identity: UUID | None = None
    """The one by which they did: then its provider alone proves who they are."""

    @property
    def administers(self) -> bool:
        """May change people, agents, keys, queues, tools and policies."""
        return self.role in ADMINISTRATORS

    @property
    def oversees(self) -> bool:
        """May see every session of the tenant, and its audit log."""
        return self.role in OVERSEERS


def memberships(user: User | AnonymousUser) -> list[Membership]:
    """All active memberships of an active person, by the tenant's name.

    More than a session may use: a request asks for `open_memberships`.
    """
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
                passwords=passwords,
                identities=frozenset(identities),
            )
            for tenant_id, slug, name, member_id, role, factors, passwords, identities in cursor.fetchall()
        ]


def open_memberships(
    request: HttpRequest, user: User | AnonymousUser | None = None
) -> list[Membership]:
    """Those that the session behind a request may use, for as long as it may.

    Who came by an external identity is in its tenant and in no other, while it lives;
    who came by a password is in all that take passwords.
    """
    found = memberships(request.user if user is None else user)
    identity = entered_by(request)
    if identity is None:
        return [one for one in found if one.passwords]
    return [
        replace(one, identity=identity, factors=frozenset())
        for one in found
        if identity in one.identities
    ]


def entered_by(request: HttpRequest) -> UUID | None:
    """The external identity by which the session began; None for a password."""
    named = request.session.get(DOOR)
    return None if named is None else UUID(named)


def member_in(user: User | AnonymousUser, slug: str) -> Membership:
    """The person's membership in the tenant of that slug, for the console.

    Raises `Problem` `not_found` (404) for strangers and for tenants that do not exist.
    """
    return _of(slug, memberships(user))


def open_member(request: HttpRequest, slug: str) -> Membership:
    """The membership that a request may use there. Raises as `member_in`."""
    return _of(slug, open_memberships(request))


def _of(slug: str, found: list[Membership]) -> Membership:
    for membership in found:
        if membership.slug == slug:
            return membership
    raise NOT_FOUND()


def any_tenant() -> bool:
    """Whether this installation has a tenant at all."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT keyturn_any_tenant()")
        return bool(cursor.fetchone()[0])
