"""Reading who is who, inside the tenant's scope."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import (
    DateTimeField,
    Exists,
    ExpressionWrapper,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)

from kernel.clock import ClockTimestamp
from tenants.models import (
    ApiKey,
    AskCount,
    ExternalIdentity,
    JoinLink,
    KeyUse,
    Member,
    Role,
    SingleSignOn,
)

NO_ADDRESS: Final = "sso.invalid"
"""Below this name (RFC 2606) are the addresses of people whom a provider made.

No mail reaches them and no password is ever theirs; what the provider calls their
address is beside the identity. So no tenant's provider says anything about anybody's
account elsewhere, and none is found out by asking.
"""


def active_member(tenant_id: UUID, member_id: UUID) -> Member | None:
    """The member with tenant and user, if active as a member and as a person."""
    return (
        active_members(tenant_id)
        .select_related("tenant", "user")
        .filter(id=member_id)
        .first()
    )


def active_members(tenant_id: UUID) -> QuerySet[Member]:
    """Members who may act: they are active here, may sign in at all, and are no guest
    whose time is over."""
    rows = Member.objects.filter(tenant_id=tenant_id, active=True, user__is_active=True)
    return rows.filter(Q(until=None) | Q(until__gt=ClockTimestamp()))


def password_members(tenant_id: UUID) -> QuerySet[Member]:
    """Active members to whom a password opens the tenant. All others come by its
    provider alone, and prove there who they are."""
    refused = SingleSignOn.objects.filter(tenant_id=tenant_id, refuses_passwords=True)
    rows = active_members(tenant_id).filter(~Exists(refused))
    return rows.exclude(user__email__endswith=f"@{NO_ADDRESS}")


def addresses_of(members: Iterable[Member]) -> dict[UUID, str]:
    """Where mail reaches them, by member; '' for whom a provider made and says no address.

    Of members that were read with their users; one statement at most.
    """
    people = list(members)
    known = {one.id: one.user.email for one in people}
    made = [id for id, email in known.items() if email.endswith(f"@{NO_ADDRESS}")]
    if made:
        rows = ExternalIdentity.objects.filter(member_id__in=made, ended_at=None)
        rows = rows.order_by("-id")
        told = dict(rows.values_list("member_id", "email"))
        known |= {id: told.get(id, "") for id in made}
    return known


def is_known_here(tenant_id: UUID, email: str) -> bool:
    """Whether an address is that of a member of this tenant, active or not.

    By their own account, or as a provider told it, also of an identity that was
    disconnected since. Two keys of one person are one key: whoever is known comes in by
    no other way. Nobody else's members are looked at. An empty address is nobody's.
    """
    told_so = ExternalIdentity.objects.filter(tenant_id=tenant_id, email__iexact=email)
    here = Member.objects.filter(tenant_id=tenant_id)
    known = Q(user__email__iexact=email) | Q(id__in=told_so.values("member_id"))
    return bool(email) and here.filter(known).exists()


def open_links(tenant_id: UUID) -> QuerySet[JoinLink]:
    """The links to join that still open something."""
    rows = JoinLink.objects.filter(tenant_id=tenant_id, used_at=None, revoked_at=None)
    return rows.filter(expires_at__gt=ClockTimestamp())


def active_owners(tenant_id: UUID) -> QuerySet[Member]:
    """Those who may give a tenant's rights away, and must never run out."""
    return active_members(tenant_id).filter(role=Role.OWNER)


def asks_unusually(agent: str) -> Exists:
    """Whether the agent in that column asked far more than it used to, within an hour.

    It says so and decides nothing.
    """
    lately = ExpressionWrapper(
        ClockTimestamp() - Value(timedelta(hours=1)), output_field=DateTimeField()
    )
    rows = AskCount.objects.filter(agent_id=OuterRef(agent), unusual=True)
    return Exists(rows.filter(minute__gt=lately))


def keys_now(
    tenant_id: UUID, key_ids: Collection[UUID]
) -> dict[UUID, tuple[ApiKey, datetime, datetime | None]]:
    """Keys with their agents and tenant, the database's time as each was read, and when
    its last use was noted."""
    uses = KeyUse.objects.filter(tenant_id=tenant_id, key_id=OuterRef("id"))
    found = (
        ApiKey.objects.select_related("agent", "tenant")
        .annotate(now=ClockTimestamp(), used_at=Subquery(uses.values("last_at")))
        .filter(tenant_id=tenant_id, id__in=key_ids)
    )
    return {key.id: (key, key.now, key.used_at) for key in found}
