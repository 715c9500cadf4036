"""What is mailed of requests, made from the rows as they are when the letter leaves.

Told is only what the reader may see, and only while it is so: nobody is asked for a key
that is not theirs to turn, or that was turned meanwhile. Those whom a question was passed
on to are told without it: they may remind whoever has one. Titles are strangers' words.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from approvals.access import visible_queues
from approvals.envelope import UNREADABLE, Envelope
from approvals.models import NoticeSettings, Request, Revision
from approvals.notices import NOTICES
from approvals.queries import kept_answers
from approvals.separation import standing
from approvals.states import OPEN
from tenants.letters import (
    Fact,
    Item,
    Letter,
    absolute,
    inert,
    name_of,
    register_writer,
)
from tenants.models import Mail, Member, Tenant
from tenants.queries import active_members, addresses_of

HEADLINES: Final[Mapping[str, str]] = {
    "waiting": "A request waits for you",
    "asked": "Somebody asks you to look at a request",
    "reminder": "A request still waits for you",
    "escalation": "A request was passed on to you",
    "outcome": "What became of a request",
    "glass": "Somebody broke the glass",
}
ASKING: Final = frozenset({"waiting", "reminder"})  # the reader's own key
WHILE_OPEN: Final = ASKING | {"asked", "escalation"}
SENTENCE: Final = (
    "Nothing is decided by this letter: the case shows exactly what would happen."
)


def register() -> None:
    """Say what these kinds of mail tell, once at start."""
    for kind in NOTICES:
        register_writer(kind, write_notices)


def write_notices(mails: list[Mail]) -> Letter | None:
    """One letter of all of them to one person; None if nothing is left to say."""
    whose = mails[0].member_id
    assert whose is not None
    people = active_members(mails[0].tenant_id).select_related("user", "tenant")
    member = people.filter(id=whose).first()
    if member is None:
        return None
    told = _told(member, mails)
    to = addresses_of([member])[member.id]
    if not told or not to:
        return None
    zone = _zone(member)
    first, request = told[0]
    alone = len({one.id for _, one in told}) == 1
    subject = inert(request.title) if alone else _count(told)
    return Letter(
        to=to,
        subject=f"[{inert(member.tenant.name)}] {subject}",
        headline=HEADLINES[first.kind] if len(told) == 1 else _count(told),
        sentences=(SENTENCE,),
        items=tuple(_item(member.tenant, *one, zone) for one in told),
        why=f"You are a member of {inert(member.tenant.name)} on Keyturn.",
        settings_href=_page(member.tenant, "notifications"),
        **_thread(member, request, mails[0].id, alone),
    )


def _told(member: Member, mails: list[Mail]) -> list[tuple[Mail, Request]]:
    """What may still be said, one line a request and kind, the most urgent first."""
    rows = Request.objects.select_related("tool", "agent", "queue", "session")
    found = rows.in_bulk([one.about for one in mails])
    sees = set(visible_queues(member))
    told: dict[tuple[str, UUID], tuple[Mail, Request]] = {}
    for mail in mails:
        request = found.get(mail.about)
        if request and request.queue_id in sees and _stands(member, mail, request):
            told[mail.kind, request.id] = mail, request
    return sorted(told.values(), key=lambda one: NOTICES.index(one[0].kind))


def _stands(member: Member, mail: Mail, request: Request) -> bool:
    if request.session.erased_at is not None:
        return False
    if mail.kind in WHILE_OPEN and request.state not in OPEN:
        return False
    return mail.kind not in ASKING or _needs_key(member, request)


def _needs_key(member: Member, request: Request) -> bool:
    """As the decision itself would be judged; what cannot be read needs nobody."""
    revision = Revision.objects.get(request=request, number=request.revision)
    if kept_answers(revision).filter(member=member).exists():
        return False
    try:
        envelope = Envelope(bytes(revision.envelope))
        return standing(request, revision, envelope, envelope.obligation).counts(
            member.id
        )
    except UNREADABLE:
        return False


def _item(tenant: Tenant, mail: Mail, request: Request, zone: ZoneInfo) -> Item:
    return Item(
        title=inert(request.title),
        facts=_facts(mail, request, zone),
        href=f"{_page(tenant, 'queue')}/{request.id}",
    )


def _facts(mail: Mail, request: Request, zone: ZoneInfo) -> tuple[Fact, ...]:
    said = [
        ("Why", HEADLINES[mail.kind]),
        ("Is", Request.State(request.state).label),
        ("Risk", request.risk.capitalize()),
        ("Tool", inert(request.tool.name)),
        ("Agent", inert(request.agent.name)),
        ("Queue", inert(request.queue.name)),
    ]
    if request.state in OPEN and request.due_at:
        said.append(("Decide by", _clock(request.due_at, zone)))
    return tuple(said)


def _thread(
    member: Member, request: Request, mail_id: UUID, alone: bool
) -> dict[str, str]:
    """All letters about one request to one person stand below the first."""
    if not alone:
        return {"name": name_of(mail_id)}
    thread = f"request.{request.id}.{member.id}"
    before = Mail.objects.filter(member=member, about=request.id, state=Mail.State.SENT)
    return {"name": name_of(mail_id) if before.exists() else thread, "thread": thread}


def _count(told: list[tuple[Mail, Request]]) -> str:
    requests = len({one.id for _, one in told})
    asking = len({one.id for mail, one in told if mail.kind in ASKING})
    what = f"{requests} request{'' if requests == 1 else 's'}"
    return (
        f"{what}, {asking} of them for you to decide" if asking else f"News of {what}"
    )


def _zone(member: Member) -> ZoneInfo:
    row = NoticeSettings.objects.filter(member=member).first() or NoticeSettings()
    return ZoneInfo(row.zone)


def _clock(at: datetime, zone: ZoneInfo) -> str:
    return f"{at.astimezone(zone):%-d %B %Y, %H:%M} {zone.key}"


def _page(tenant: Tenant, name: str) -> str:
    """Written out: a worker would load every address there is, in this transaction."""
    return absolute(f"/t/{tenant.slug}/{name}")
