"""The pages of members, from rows; inside the tenant's scope."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Max
from django.http import QueryDict

from approvals.pages.addresses import address
from approvals.pages.leave import as_typed, leave_view
from approvals.presentation.leave import LeaveView
from approvals.presentation.shell import Notice
from audit.models import Entry
from kernel.clock import database_now
from kernel.problems import NOT_FOUND
from oversight.pages.invitations import invitation_rows
from oversight.pages.keyset import PAGE, from_after, pages_after
from oversight.presentation.forms import Choice, Form
from oversight.presentation.invitations import ShownLink
from oversight.presentation.people import MemberView, PeopleView, PersonRow
from tenants.access import Membership
from tenants.models import ExternalIdentity, Group, Member, Role, User
from tenants.queries import addresses_of

SIGNED_IN: Final = "member.signed_in"


def people_view(
    member: Membership,
    after: str,
    *,
    form: Form | None = None,
    link: ShownLink | None = None,
    notice: Notice | None = None,
) -> PeopleView:
    """One page of them in the order in which they joined, and who is asked in."""
    rows = Member.objects.select_related("user")
    found = from_after(rows, "id", _id(after))
    guest = form if form and form.act == "guest" else Form()
    if form is None or form is guest:
        form = Form(typed={"role": Role.REVIEWER})
    return PeopleView(
        rows=person_rows(member.slug, found[:PAGE]),
        pages=pages_after("people", member.slug, after, [str(one.id) for one in found]),
        invited=invitation_rows(member),
        roles=roles(member, form.typed.get("role", "")),
        groups=tuple(
            Choice(value=str(one.id), text=one.name, chosen=str(one.id) in form.ticked)
            for one in Group.objects.order_by("name")
        ),
        form=form,
        guest_form=guest,
        here=address("people", member.slug),
        groups_href=address("groups", member.slug),
        sso_href=address("single_sign_on", member.slug),
        mails=settings.MAILS,
        now=database_now(),
        link=link,
        notice=notice,
    )


def member_view(
    member: Membership,
    member_id: UUID,
    *,
    form: Form | None = None,
    notice: Notice | None = None,
) -> MemberView:
    """One member with their groups. Raises `not_found`."""
    found = Member.objects.select_related("user").filter(id=member_id).first()
    if found is None:
        raise NOT_FOUND()
    groups = _groups([found])[found.user_id]
    inside = {one.id for one in groups}
    others = Group.objects.exclude(id__in=inside).order_by("name")
    (row,) = person_rows(member.slug, [found])
    known = ExternalIdentity.objects.filter(member_id=found.id, ended_at=None)
    return MemberView(
        back_href=address("people", member.slug),
        here=address("person", member.slug, found.id),
        history_href=address("person_history", member.slug, found.id),
        row=row,
        may_touch=may_touch(member, found.role),
        roles=roles(member, found.role),
        groups=tuple(map(_choice, groups)),
        others=tuple(map(_choice, others)),
        identities=tuple(
            Choice(value=str(one.id), text=f"{one.subject} · {one.issuer}")
            for one in known.order_by("id")
        ),
        form=form or Form(),
        now=database_now(),
        notice=notice,
    )


def member_leave(
    member: Membership,
    member_id: UUID,
    posted: QueryDict,
    *,
    form: Form | None = None,
    notice: Notice | None = None,
) -> LeaveView | None:
    """When they are away and who is asked instead; of those whom the reader may touch."""
    found = Member.objects.select_related("user").filter(id=member_id).first()
    if found is None or not may_touch(member, found.role):
        return None
    typed = None
    if form and form.act in {"away", "change_away"}:
        queues = posted.getlist("queues")
        typed = as_typed(found, form.typed, queues, form.errors)
    here = address("person", member.slug, found.id)
    return leave_view(found, here=here, mine=False, typed=typed)


def may_touch(member: Membership, role: str) -> bool:
    """As the verbs judge it; only owners touch owners."""
    return member.role is Role.OWNER or role != Role.OWNER


def roles(member: Membership, chosen: str) -> tuple[Choice, ...]:
    """Those that the member may give."""
    return tuple(
        Choice(value=role.value, text=role.label, chosen=role.value == chosen)
        for role in Role
        if may_touch(member, role)
    )


def person_rows(slug: str, members: list[Member]) -> tuple[PersonRow, ...]:
    """Of members that were read with their users; three statements more."""
    groups, seen = _groups(members), _signed_in(members)
    now = database_now()
    addresses = addresses_of(members)
    return tuple(
        PersonRow(
            id=str(one.id),
            href=address("person", slug, one.id),
            name=one.name,
            email=addresses[one.id],
            role=Role(one.role).label,
            state=_state(one, now),
            until=one.until,
            groups=tuple(group.name for group in groups[one.user_id]),
            seen_at=seen.get(one.id),
        )
        for one in members
    )


def _state(member: Member, now: datetime) -> str:
    if not member.user.is_active:
        return "barred"
    if member.active and member.until is not None and member.until <= now:
        return "over"
    return "on" if member.active else "off"


def _groups(members: Iterable[Member]) -> Mapping[UUID, list[Group]]:
    """By user, those of this tenant."""
    through = User.groups.through.objects
    pairs = through.filter(
        user_id__in=[one.user_id for one in members],
        group_id__in=Group.objects.values("django_group_id"),
    ).values_list("user_id", "group_id")
    known = {one.django_group_id: one for one in Group.objects.all()}
    found: dict[UUID, list[Group]] = defaultdict(list)
    for user, group in pairs:
        found[user].append(known[group])
    for groups in found.values():
        groups.sort(key=lambda one: one.name)
    return found


def _signed_in(members: Iterable[Member]) -> Mapping[UUID, datetime]:
    """When each did so last, as this tenant has it on record."""
    rows = Entry.objects.filter(
        kind=SIGNED_IN, subject_id__in=[one.id for one in members]
    )
    newest = rows.order_by().values_list("subject_id").annotate(last=Max("at"))
    return {member: last for member, last in newest if member is not None}


def _choice(group: Group) -> Choice:
    return Choice(value=str(group.id), text=group.name)


def _id(text: str) -> str:
    """An id that is none asks for the first page."""
    try:
        return str(UUID(text))
    except ValueError:
        return ""
