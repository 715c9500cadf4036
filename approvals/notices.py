"""Writing down who is to be mailed, in the transaction that there is something to tell.

It only says whom: what the letter says, and whether it is said at all, is looked at when
it leaves. Entries of kinds that are not known here concern nobody.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from approvals.access import holders, owners_since
from approvals.models import Comment, Decision, NoticeSettings, Request
from approvals.paces import due_at
from approvals.states import OPEN
from kernel.clock import database_now
from tenants.access import OVERSEERS
from tenants.models import Mail, Member
from tenants.queries import active_members
from tenants.services.mailing import owe
from tenants.verbs import Verb

MOST: Final = 200  # people that one entry concerns

type Whom = Callable[[Request, Mapping[str, Any]], Iterable[UUID]]
"""Ids of the members whom an entry of the log concerns; from the entry's data."""


def tell_people(verb: Verb) -> None:
    """A mail for each entry and each person whom it concerns and who wants one."""
    if not settings.MAILS:
        return
    for note in verb.journal.notes:
        if note.kind in CONCERNS and (request := _request(note.subject, note.data)):
            kind, whom = CONCERNS[note.kind]
            people = set(whom(request, note.data)) - {note.actor.id}
            owe(verb, _mails(verb, note.id, kind, request, people))


def _request(
    subject: tuple[str, UUID | None], data: Mapping[str, Any]
) -> Request | None:
    about, id = subject
    named = id if about == "request" else data.get("request")
    return Request.objects.filter(id=named).first() if named else None


def _mails(
    verb: Verb, event: UUID, kind: str, request: Request, people: set[UUID]
) -> list[Mail]:
    rows = active_members(verb.tenant_id).filter(id__in=sorted(people)[:MOST])
    present = list(rows.values_list("id", flat=True))
    wishes, now = _wishes(present), database_now()
    found = []
    for member in present:
        wish = wishes.get(member) or NoticeSettings()
        at = due_at(wish, kind, now, request.due_at)
        if at is not None:
            mail = Mail(kind=kind, member_id=member, about=request.id, event=event)
            mail.tenant_id, mail.due_at = verb.tenant_id, at
            found.append(mail)
    return found


def _wishes(people: list[UUID]) -> Mapping[UUID, NoticeSettings]:
    rows = NoticeSettings.objects.filter(member_id__in=people)
    return {one.member_id: one for one in rows}


def _deciders(request: Request, data: Mapping[str, Any]) -> Iterable[UUID]:
    """Whoever decides on the queue; whose key it needs is asked when the letter leaves.

    Nobody where it was answered as it was asked: by a policy, or beforehand.
    """
    if request.state not in OPEN:
        return ()
    tenant, queue = request.tenant_id, request.queue_id
    return holders(tenant_id=tenant, queue_id=queue, permission="decide")


def _named(request: Request, data: Mapping[str, Any]) -> Iterable[UUID]:
    return [UUID(one) for one in (*data.get("members", ()), *_to(data))]


def _to(data: Mapping[str, Any]) -> tuple[str, ...]:
    return (data["to"],) if data.get("to") else ()


def _owners(request: Request, data: Mapping[str, Any]) -> Iterable[UUID]:
    """Those who answer for the agent that asked."""
    return owners_since(request.agent_id, database_now())


def _who_agreed(request: Request, data: Mapping[str, Any]) -> Iterable[UUID]:
    """Their approval came to nothing, unless the check was only early."""
    if data.get("class") not in {"reopen", "stop"}:
        return ()
    rows = Decision.objects.filter(
        request=request,
        verdict="approve",
        member__isnull=False,
        taken_back_by=None,
    )
    return [*rows.values_list("member_id", flat=True), *_owners(request, data)]


def _overseers(request: Request, data: Mapping[str, Any]) -> Iterable[UUID]:
    rows = Member.objects.filter(role__in=OVERSEERS)
    return rows.values_list("id", flat=True)


def _mentioned(request: Request, data: Mapping[str, Any]) -> Iterable[UUID]:
    """Whose name stands behind an @ in the newest comment."""
    comment = Comment.objects.filter(request=request).order_by("-created_at").first()
    if comment is None or "@" not in comment.text:
        return ()
    names = active_members(request.tenant_id).values_list("id", "name")
    return [id for id, name in names if _mentions(comment.text, name)]


def _mentions(text: str, name: str) -> bool:
    """By the whole name, or the first of it."""
    words = "|".join(map(re.escape, {name, name.split()[0]}))
    return re.search(rf"(?<!\w)@(?:{words})(?!\w)", text, re.IGNORECASE) is not None


CONCERNS: Final[Mapping[str, tuple[str, Whom]]] = {
    "request.asked": ("waiting", _deciders),
    "request.revised": ("waiting", _deciders),
    "request.assigned": ("asked", _named),
    "comment.recorded": ("asked", _mentioned),
    "request.reminded": ("reminder", _named),
    "request.escalated": ("escalation", _named),
    "grant.issued": ("outcome", _owners),
    "request.rejected": ("outcome", _owners),
    "request.answered": ("outcome", _owners),
    "request.expired": ("outcome", _owners),
    "verification.refused": ("outcome", _who_agreed),
    "approval.broke_glass": ("glass", _overseers),
}
NOTICES: Final = ("waiting", "asked", "reminder", "escalation", "outcome", "glass")
