"""Who may do this now? Asked of the rows, inside the tenant's scope and gate."""

from datetime import datetime
from enum import Enum
from typing import Final
from uuid import UUID

from audit.append import Actor
from kernel.outcome import Outcome, Passed, Refused
from kernel.problems import NOT_FOUND, declare
from tenants.access import ADMINISTRATORS, NOT_PERMITTED, OWNERS
from tenants.models import ApiKey, Role, Tenant
from tenants.queries import active_member

TENANT_STOPPED: Final = declare(
    "tenant_stopped", status=409, title="This tenant is stopped"
)


class Operator(Enum):
    """Whoever runs commands on the server itself, and so holds every key anyway."""

    CONSOLE = "console"


type Acting = UUID | Operator
"""Who changes something: the id of a member of the tenant, or the operator."""


def permitted(
    tenant_id: UUID,
    by: Acting,
    *,
    roles: frozenset[Role] = ADMINISTRATORS,
    while_stopped: bool = False,
) -> Actor:
    """The actor to record, once it is certain that they may do this.

    Raises `not_found` (404) for no active member of this tenant, `not_permitted` (403)
    for a role outside `roles`, and `tenant_stopped` (409) unless `while_stopped`.
    """
    if by is Operator.CONSOLE:
        return Actor("operator", tenant_id)
    member = active_member(tenant_id, by)
    if member is None:
        raise NOT_FOUND()
    if member.role not in roles:
        raise NOT_PERMITTED()
    if member.tenant.state != Tenant.State.ACTIVE and not while_stopped:
        raise TENANT_STOPPED()
    return Actor("member", member.id)


def permitted_role(tenant_id: UUID, by: Acting, *roles: Role) -> Actor:
    """As `permitted`; and only an owner gives the owner's role, or takes it away."""
    return permitted(
        tenant_id, by, roles=OWNERS if Role.OWNER in roles else ADMINISTRATORS
    )


def key_standing(key: ApiKey, now: datetime) -> Outcome:
    """Whether a key may be used at the database's time `now`."""
    if key.tenant.state != Tenant.State.ACTIVE:
        return Refused("tenant_stopped", "The tenant is stopped.", "stop")
    if not key.agent.enabled:
        return Refused("agent_disabled", "The agent is disabled.", "stop")
    if key.revoked_at is not None:
        return Refused("key_revoked", "The key was revoked.", "stop")
    if key.expires_at is not None and key.expires_at <= now:
        return Refused("key_expired", "The key has expired.", "stop")
    return Passed()
