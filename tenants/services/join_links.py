"""Links by which one unknown identity becomes one new member, once."""

import secrets
from datetime import timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

from audit.append import Actor
from kernel.clock import ClockTimestamp, database_now
from kernel.problems import NOT_FOUND, declare
from kernel.update import update_exactly_one
from tenants.checks import Acting, Operator, permitted, permitted_role
from tenants.models import JoinLink, Role
from tenants.queries import open_links
from tenants.services.admission import require_maker
from tenants.services.change import change, own
from tenants.services.names import checked_name
from tenants.services.single_sign_on import ROLES, SETTINGS_REFUSED
from tenants.verbs import Verb

LINK_DAYS: Final = 7
LINK_DEAD: Final = declare(
    "sso.link_dead", status=410, title="This link was used, or its time is over"
)


def make_join_link(*, tenant_id: UUID, by: Acting, name: str, role: Role) -> str:
    """A secret for one new member, to be shown once; it lives for a week.

    It makes a member and connects nobody who is one, so whoever makes it becomes nobody
    else with it. Raises `sso.settings_refused` and `name_invalid` (422).
    """
    text = secrets.token_urlsafe(32)

    def work(verb: Verb) -> str:
        actor = permitted_role(tenant_id, by, role)
        if role not in ROLES:
            raise SETTINGS_REFUSED("Give them this role once they are here.", "/role")
        row = JoinLink.objects.create(
            tenant_id=tenant_id,
            digest=_digest(text),
            name=checked_name(name, most=200),
            role=role,
            created_by_id=None if isinstance(by, Operator) else by,
            expires_at=database_now() + timedelta(days=LINK_DAYS),
        )
        _record(verb, "sso.link_made", actor, row)
        return text

    return change(tenant_id, work)


def revoke_join_link(*, tenant_id: UUID, by: Acting, link_id: UUID) -> None:
    """Let a link open nothing any more. Raises `not_found` for one that opens nothing."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        row = own(JoinLink, tenant_id, link_id)
        if not open_links(tenant_id).filter(id=link_id).exists():
            raise NOT_FOUND()
        unused = JoinLink.objects.filter(id=link_id, used_at=None, revoked_at=None)
        update_exactly_one(unused, revoked_at=ClockTimestamp())
        _record(verb, "sso.link_revoked", actor, row)

    change(tenant_id, work)


def use_link(tenant_id: UUID, text: str) -> JoinLink:
    """Use a link up, inside a verb. Raises `sso.link_dead` (410), whyever it opens nothing."""
    row = open_links(tenant_id).filter(digest=_digest(text)).first()
    if row is None:
        raise LINK_DEAD("Ask for another one.")
    require_maker(tenant_id, row.created_by_id, Role(row.role), LINK_DEAD)
    unused = JoinLink.objects.filter(id=row.id, used_at=None, revoked_at=None)
    update_exactly_one(unused, used_at=ClockTimestamp())
    return row


def _digest(link: str) -> bytes:
    return sha256(link.encode()).digest()


def _record(verb: Verb, kind: str, actor: Actor, row: JoinLink) -> None:
    data = {"name": row.name, "role": str(row.role)}
    verb.record(kind, actor=actor, subject=("tenant", verb.tenant_id), data=data)
