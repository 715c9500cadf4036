"""The pages of queues, from rows; inside the tenant's scope."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import Count

from approvals.access import holders
from approvals.models import Queue, Request
from approvals.models.queue import QueueGroupPermission, QueueUserPermission
from approvals.pages.addresses import address
from approvals.presentation.shell import Empty, Notice
from approvals.services.queues import RIGHTS
from approvals.states import OPEN
from kernel.problems import NOT_FOUND
from oversight.pages.agents import people
from oversight.pages.keyset import PAGE, from_after, pages_after
from oversight.presentation.forms import Choice, Form
from oversight.presentation.queues import (
    HolderRow,
    NudgesForm,
    QueueRow,
    QueuesView,
    QueueView,
)
from tenants.access import Membership
from tenants.models import Group, Member

WORDS: Final[Mapping[str, str]] = {
    "view": "Sees it",
    "decide": "Decides",
    "edit_arguments": "Edits arguments",
    "resolve": "Records outcomes",
    "break_glass": "Breaks the glass",
}
NONE: Final = Empty(
    title="No queue yet",
    sentence="The first request opens one for the reviewers, or create one below.",
    icon="queue",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A group or a member who may hold rights."""

    kind: str
    id: UUID
    name: str

    @property
    def value(self) -> str:
        return f"{self.kind}:{self.id}"


def queues_view(
    member: Membership, after: str, *, form: Form | None = None
) -> QueuesView:
    """One page of them by their address, and the form for one more."""
    found = from_after(Queue.objects.all(), "slug", after)
    return QueuesView(
        here=address("queues", member.slug),
        rows=_rows(member.slug, found[:PAGE]),
        columns=tuple(WORDS.values()),
        pages=pages_after("queues", member.slug, after, [one.slug for one in found]),
        form=form or Form(),
        empty=None if found else NONE,
    )


def queue_view(
    member: Membership,
    queue_id: UUID,
    *,
    form: Form | None = None,
    notice: Notice | None = None,
) -> QueueView:
    """One queue with whoever holds a right on it. Raises `not_found`."""
    queue = Queue.objects.filter(id=queue_id).first()
    if queue is None:
        raise NOT_FOUND()
    held, form = _held([queue])[queue.id], form or Form(ticked=frozenset({"view"}))
    given = form.typed.get("holder", "")
    return QueueView(
        back_href=address("queues", member.slug),
        here=address("queue_rights", member.slug, queue.id),
        slug=queue.slug,
        name=queue.name,
        default=queue.default,
        counts=_counts(member.tenant_id, queue.id),
        holders=tuple(_holder(one, rights) for one, rights in held.items()),
        groups=_groups(given),
        people=_people(member.tenant_id, given),
        rights=_choices(form.ticked),
        form=form,
        nudges=_nudges(queue, form),
        notice=notice,
    )


def _nudges(queue: Queue, form: Form) -> NudgesForm:
    """As it is, or as it was typed."""
    typed = form.typed if form.act == "nudges" else None
    to = f"group:{queue.escalate_to_group_id}" if queue.escalate_to_group_id else ""
    to = f"queue:{queue.escalate_to_queue_id}" if queue.escalate_to_queue_id else to
    if typed is not None:
        to = typed.get("to", "")
    others = Queue.objects.exclude(id=queue.id).order_by("name")
    named = [(f"queue:{one.id}", one.name) for one in others]
    return NudgesForm(
        remind=_minutes(queue.remind_after)
        if typed is None
        else typed.get("remind", ""),
        escalate=_minutes(queue.escalate_after)
        if typed is None
        else typed.get("escalate", ""),
        groups=_groups(to),
        queues=tuple(Choice(value=v, text=t, chosen=v == to) for v, t in named),
        errors=form.errors if typed is not None else {},
    )


def _minutes(seconds: int | None) -> str:
    return "" if seconds is None else str(seconds // 60)


def _rows(slug: str, queues: list[Queue]) -> tuple[QueueRow, ...]:
    held, waiting = _held(queues), _waiting(queues)
    return tuple(
        QueueRow(
            href=address("queue_rights", slug, one.id),
            slug=one.slug,
            name=one.name,
            default=one.default,
            waiting=waiting.get(one.id, 0),
            may=tuple((WORDS[right], _who(held[one.id], right)) for right in WORDS),
        )
        for one in queues
    )


def _who(held: Mapping[Holder, set[str]], right: str) -> tuple[str, ...]:
    return tuple(one.name for one, rights in held.items() if right in rights)


def _waiting(queues: list[Queue]) -> Mapping[UUID, int]:
    rows = Request.objects.filter(queue__in=queues, state__in=OPEN).order_by()
    return dict(rows.values_list("queue_id").annotate(n=Count("id")))


def _held(queues: Iterable[Queue]) -> Mapping[UUID, Mapping[Holder, set[str]]]:
    """By queue, groups and then members with their rights, each by name."""
    found: dict[UUID, dict[Holder, set[str]]] = defaultdict(dict)
    for queue, holder, right in (*_of_groups(queues), *_of_members(queues)):
        found[queue].setdefault(holder, set()).add(right)
    return found


def _of_groups(queues: Iterable[Queue]) -> list[tuple[UUID, Holder, str]]:
    rows = QueueGroupPermission.objects.filter(content_object__in=queues)
    pairs = rows.values_list("content_object_id", "group_id", "permission__codename")
    known = {
        one.django_group_id: Holder(kind="group", id=one.id, name=one.name)
        for one in Group.objects.all()
    }
    found = [(queue, known[group], right) for queue, group, right in pairs]
    return sorted(found, key=lambda row: row[1].name)


def _of_members(queues: Iterable[Queue]) -> list[tuple[UUID, Holder, str]]:
    rows = QueueUserPermission.objects.filter(content_object__in=queues)
    pairs = list(
        rows.values_list("content_object_id", "user_id", "permission__codename")
    )
    members = Member.objects.filter(user_id__in={user for _, user, _ in pairs})
    known = {
        one.user_id: Holder(kind="member", id=one.id, name=one.name) for one in members
    }
    found = [(queue, known[user], right) for queue, user, right in pairs]
    return sorted(found, key=lambda row: row[1].name)


def _counts(tenant_id: UUID, queue_id: UUID) -> tuple[tuple[str, int], ...]:
    """Of people who are active now, each once."""
    return tuple(
        (
            WORDS[right],
            len(holders(tenant_id=tenant_id, queue_id=queue_id, permission=right)),
        )
        for right in RIGHTS
    )


def _holder(holder: Holder, rights: set[str]) -> HolderRow:
    return HolderRow(
        value=holder.value,
        name=holder.name,
        kind=holder.kind,
        rights=tuple(one for one in _choices(frozenset(rights)) if one.chosen),
    )


def _choices(ticked: frozenset[str]) -> tuple[Choice, ...]:
    return tuple(
        Choice(value=right, text=words, chosen=right in ticked)
        for right, words in WORDS.items()
    )


def _groups(given: str) -> tuple[Choice, ...]:
    values = [(f"group:{one.id}", one.name) for one in Group.objects.order_by("name")]
    return tuple(Choice(value=v, text=name, chosen=v == given) for v, name in values)


def _people(tenant_id: UUID, given: str) -> tuple[Choice, ...]:
    values = [(f"member:{one.value}", one.text) for one in people(tenant_id)]
    return tuple(Choice(value=v, text=name, chosen=v == given) for v, name in values)
