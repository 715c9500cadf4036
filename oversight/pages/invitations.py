"""Open invitations, from rows; inside the tenant's scope."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from kernel.clock import database_now
from oversight.presentation.invitations import InvitationRow
from tenants.access import ADMINISTRATORS, Membership
from tenants.models import Group, Invitation, Mail, Role

MOST: Final = 100


def invitation_rows(member: Membership) -> tuple[InvitationRow, ...]:
    """The newest of them, with what became of each one's last letter."""
    rows = Invitation.objects.select_related("invited_by__user")
    found = list(rows.order_by("-created_at", "-id")[:MOST])
    if not found:
        return ()
    groups = {one.id: one.name for one in Group.objects.all()}
    mails, now = _last_mails(one.id for one in found), database_now()
    return tuple(
        InvitationRow(
            id=str(one.id),
            email=one.email,
            name=one.name,
            role="Guest auditor" if one.until else Role(one.role).label,
            groups=tuple(groups[id] for id in one.groups if id in groups),
            invited_by=one.invited_by.name if one.invited_by else "An operator",
            state=_state(one, now),
            mail=_fared(mails.get(one.id)),
            sent_at=one.created_at,
            expires_at=one.expires_at,
            may_touch=member.role is Role.OWNER or one.role != Role.OWNER,
        )
        for one in found
    )


def _last_mails(ids: Iterable[UUID]) -> Mapping[UUID, Mail]:
    rows = Mail.objects.filter(kind="invitation", about__in=list(ids))
    return {one.about: one for one in rows.order_by("created_at")}


def _fared(mail: Mail | None) -> str:
    if mail is None:
        return ""
    if mail.state == Mail.State.QUEUED and mail.code:
        return "tried again"
    return {"queued": "on its way", "sent": "mailed", "dead": "not delivered"}.get(
        mail.state, ""
    )


def _state(invitation: Invitation, now: datetime) -> str:
    if invitation.expires_at <= now:
        return "ended"
    by = invitation.invited_by
    if by is None:
        return "open"
    inviting = {Role.OWNER} if invitation.role == Role.OWNER else ADMINISTRATORS
    stands = by.active and by.user.is_active and by.role in inviting
    return "open" if stands else "void"
