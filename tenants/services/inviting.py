"""Invitations: asking somebody in. They are no member until they say so themselves.

Who invites learns nothing of the address: whether somebody signs in with it, what they
are called, or where else they belong. What opens an invitation is its link alone, and
only to whoever signs in with the address that it was made for.
"""

import base64
import hashlib
import hmac
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings

from audit.append import Actor
from kernel.clock import database_now
from kernel.problems import declare
from kernel.update import update_exactly_one
from tenants.checks import Acting, Operator, permitted, permitted_role
from tenants.letters import Item, Letter, absolute, inert, name_of, register_writer
from tenants.models import Group, Invitation, Mail, Role
from tenants.queries import is_known_here
from tenants.services.change import ALREADY_SO, change, own
from tenants.services.mailing import owe
from tenants.services.names import checked_email, checked_name
from tenants.vault import purpose_key
from tenants.verbs import Verb

PURPOSE: Final = "invitations"
KIND: Final = "invitation"  # of mail
STANDS_FOR: Final = timedelta(days=7)
SENT_EVERY: Final = timedelta(minutes=1)  # at most, to the same person
MOST_AN_HOUR: Final = 200  # letters of one tenant, to addresses that it chose
FORGOTTEN_AFTER: Final = timedelta(days=30)  # since it ended unanswered
INVITED: Final = declare(
    "already_invited", status=409, title="They are invited already"
)
TOO_SOON: Final = declare(
    "invitation_too_soon", status=429, title="This invitation was sent a moment ago"
)
TOO_MANY: Final = declare(
    "invitations_too_many",
    status=429,
    title="This tenant has invited very many within an hour",
)
OVER: Final = declare(
    "invitation_over", status=409, title="The guest's time is over already"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    """An invitation, and its link where nobody mails it: shown once, never again."""

    invitation: Invitation
    link: str = ""


def invite_member(
    *,
    tenant_id: UUID,
    by: Acting,
    email: str,
    role: Role,
    name: str = "",
    groups: Collection[UUID] = (),
    until: datetime | None = None,
) -> Invited:
    """Ask the person of that address in, known here or not.

    `name` is what they are called here, unless they choose another; a guest's rights end
    `until` then. Raises `already_so`
    (409) for a member of this tenant, `already_invited` (409), `not_found` (404) for
    groups of others, `invitations_too_many` (429), and what `permitted_role` raises.
    """
    address = checked_email(email)
    called = checked_name(name, most=200) if name.strip() else ""

    def work(verb: Verb) -> Invited:
        actor = permitted_role(tenant_id, by, role)
        _forget_old(tenant_id)
        _refuse_known(tenant_id, address)
        invitation = Invitation(
            tenant_id=tenant_id,
            email=address,
            name=called,
            role=role,
            until=until,
            groups=[own(Group, tenant_id, one).id for one in dict.fromkeys(groups)],
        )
        link = _open(invitation, by)
        invitation.save(force_insert=True)
        return _sent(verb, "invitation.sent", actor, invitation, link)

    return change(tenant_id, work)


def resend_invitation(*, tenant_id: UUID, by: Acting, invitation_id: UUID) -> Invited:
    """Send a new link in the resender's name; the former one opens nothing any more.

    Raises `invitation_too_soon` (429) within a minute of the last one, and
    `invitation_over` (409) for a guest whose time is over.
    """

    def work(verb: Verb) -> Invited:
        permitted(tenant_id, by)
        invitation = own(Invitation, tenant_id, invitation_id)
        actor = permitted_role(tenant_id, by, Role(invitation.role))
        _refuse_again(invitation)
        invitation.serial += 1
        link = _open(invitation, by)
        rows = Invitation.objects.filter(id=invitation.id)
        changed = ("serial", "link", "expires_at", "invited_by_id", "sent_at")
        update_exactly_one(
            rows, **{name: getattr(invitation, name) for name in changed}
        )
        return _sent(verb, "invitation.resent", actor, invitation, link)

    return change(tenant_id, work)


def revoke_invitation(*, tenant_id: UUID, by: Acting, invitation_id: UUID) -> None:
    """Take it back: its link opens nothing any more, and the address is forgotten."""

    def work(verb: Verb) -> None:
        permitted(tenant_id, by)
        invitation = own(Invitation, tenant_id, invitation_id)
        actor = permitted_role(tenant_id, by, Role(invitation.role))
        subject = ("invitation", invitation.id)
        Invitation.objects.filter(id=invitation.id).delete()
        verb.record("invitation.revoked", actor=actor, subject=subject)

    change(tenant_id, work)


def register() -> None:
    """Say what the mail of an invitation tells, once at start."""
    register_writer(KIND, _letter)


def _letter(mails: list[Mail]) -> Letter | None:
    """Of one that stands still: its newest link, which the letter alone carries."""
    rows = Invitation.objects.select_related("tenant", "invited_by")
    rows = rows.filter(id=mails[0].about, expires_at__gt=database_now())
    invitation = rows.first()
    if invitation is None:
        return None
    tenant = inert(invitation.tenant.name)
    by = inert(invitation.invited_by.name) if invitation.invited_by else "An operator"
    until = f"{invitation.expires_at:%-d %B %Y, %H:%M} UTC"
    item = Item(
        title=tenant,
        facts=(("As", Role(invitation.role).label), ("By", by), ("Until", until)),
        href=link_of(invitation),
        action="See the invitation",
    )
    return Letter(
        to=invitation.email,
        subject=f"You are invited to {tenant}",
        headline="You are invited",
        sentences=(
            "Somebody asks you to help decide what AI agents may do. Nothing happens"
            " until you accept. The link works once; if you did not expect it, leave it.",
        ),
        items=(item,),
        why="Keyturn sends this once, because your address was entered there.",
        name=name_of(mails[0].id),
    )


def link_of(invitation: Invitation) -> str:
    """Its address, made anew from what no table holds."""
    return absolute(f"/invitations/{token_of(invitation)}")


def token_of(invitation: Invitation) -> str:
    """What its newest link carries: 256 bits that the tenant's key alone can make."""
    key = purpose_key(invitation.tenant_id, PURPOSE)
    said = invitation.id.bytes + invitation.serial.to_bytes(4)
    made = hmac.digest(key, said, "sha256")
    return base64.urlsafe_b64encode(made).rstrip(b"=").decode()


def digest_of(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).digest()


def _open(invitation: Invitation, by: Acting) -> str:
    """From now on, for a while, in the name of `by`; the link that opens it.

    A guest's stands for no longer than they may stay.
    """
    invitation.invited_by_id = None if by is Operator.CONSOLE else by
    invitation.sent_at = database_now()
    ends = invitation.sent_at + STANDS_FOR
    invitation.expires_at = min(ends, invitation.until or ends)
    invitation.link = digest_of(token_of(invitation))
    return link_of(invitation)


def _sent(
    verb: Verb, kind: str, actor: Actor, invitation: Invitation, link: str
) -> Invited:
    _refuse_flood(verb.tenant_id)
    data = {
        "role": invitation.role,
        "groups": [str(one) for one in invitation.groups],
        "mailed": settings.MAILS,
    }
    subject = ("invitation", invitation.id)
    event = verb.journal.record(kind=kind, actor=actor, subject=subject, data=data)
    mail = Mail(
        tenant_id=verb.tenant_id,
        kind=KIND,
        about=invitation.id,
        event=event,
        due_at=database_now(),
    )
    owe(verb, [mail])
    return Invited(invitation=invitation, link="" if settings.MAILS else link)


def _refuse_known(tenant_id: UUID, email: str) -> None:
    """Of this tenant alone: what is known elsewhere makes no difference."""
    if is_known_here(tenant_id, email):
        raise ALREADY_SO("They are a member here, perhaps one without rights.")
    if Invitation.objects.filter(tenant_id=tenant_id, email=email).exists():
        raise INVITED("Send the invitation again, or revoke it.")


def _refuse_again(invitation: Invitation) -> None:
    now = database_now()
    if invitation.until is not None and invitation.until <= now:
        raise OVER("Revoke it, and invite them for another time.")
    if invitation.sent_at > now - SENT_EVERY:
        raise TOO_SOON("They were sent one just now. Wait a minute.")


def _refuse_flood(tenant_id: UUID) -> None:
    """What is revoked is forgotten, and could be sent anew: letters are what is counted,
    since whom they reach did not ask for them. None are written where none are sent."""
    lately = Mail.objects.filter(tenant_id=tenant_id, kind=KIND)
    since = database_now() - timedelta(hours=1)
    if lately.filter(created_at__gt=since).count() >= MOST_AN_HOUR:
        raise TOO_MANY("Wait an hour.")


def _forget_old(tenant_id: UUID) -> None:
    before = database_now() - FORGOTTEN_AFTER
    Invitation.objects.filter(tenant_id=tenant_id, expires_at__lt=before).delete()
