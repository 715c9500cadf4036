"""The pages of groups, from rows; inside the tenant's scope."""

from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Q

from approvals.pages.addresses import address
from approvals.presentation.shell import Empty, Notice
from kernel.clock import database_now
from kernel.problems import NOT_FOUND
from oversight.pages.agents import people
from oversight.pages.keyset import PAGE, from_after, pages_after
from oversight.pages.people import person_rows
from oversight.presentation.forms import Form
from oversight.presentation.people import GroupRow, GroupsView, GroupView
from tenants.access import Membership
from tenants.models import Group, Member

NONE: Final = Empty(
    title="No group yet",
    sentence="Create one below, and give it rights on a queue.",
    icon="people",
)


def groups_view(
    member: Membership, after: str, *, form: Form | None = None
) -> GroupsView:
    """One page of them by name, and the form for one more."""
    own = Q(django_group__user__in=Member.objects.values("user_id"))
    counted = Group.objects.annotate(n=Count("django_group__user", filter=own))
    found = from_after(counted, "name", after)
    return GroupsView(
        back_href=address("people", member.slug),
        here=address("groups", member.slug),
        rows=tuple(_row(member.slug, one) for one in found[:PAGE]),
        pages=pages_after("groups", member.slug, after, [one.name for one in found]),
        form=form or Form(),
        empty=None if found else NONE,
    )


def group_view(
    member: Membership,
    group_id: UUID,
    *,
    form: Form | None = None,
    notice: Notice | None = None,
) -> GroupView:
    """One group with those who are in it. Raises `not_found`."""
    group = Group.objects.filter(id=group_id).first()
    if group is None:
        raise NOT_FOUND()
    rows = Member.objects.filter(user__groups=group.django_group_id)
    inside = list(rows.select_related("user").order_by("name", "id"))
    ids = {str(one.id) for one in inside}
    everybody = people(member.tenant_id)
    return GroupView(
        back_href=address("groups", member.slug),
        here=address("group", member.slug, group.id),
        name=group.name,
        rows=person_rows(member.slug, inside),
        others=tuple(one for one in everybody if one.value not in ids),
        form=form or Form(),
        now=database_now(),
        notice=notice,
    )


def _row(slug: str, group: Any) -> GroupRow:
    return GroupRow(
        href=address("group", slug, group.id), name=group.name, members=group.n
    )
