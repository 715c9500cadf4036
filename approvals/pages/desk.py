"""List, case and frame of one page, read together."""

from dataclasses import dataclass
from uuid import UUID

from approvals.pages.case import case_view, read_case
from approvals.pages.case.attempt import Attempt, returned_form, told
from approvals.pages.case.page import place_of
from approvals.pages.frame import frame
from approvals.pages.index import Index, read_index
from approvals.pages.listing import queue_view
from approvals.pages.selection import Selection
from approvals.presentation.case import CaseView
from approvals.presentation.queue import QueueView
from approvals.presentation.shell import Shell
from kernel.clock import database_now
from tenants.access import Membership
from tenants.models import Member, User
from tenants.principal import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskPage:
    shell: Shell
    queue: QueueView


def read_desk(
    user: User,
    member: Membership,
    person: Person,
    selection: Selection,
    id: UUID | None = None,
    attempt: Attempt | None = None,
) -> DeskPage:
    """Raises `not_found` for a case that the member may not see."""
    viewer = Member.objects.get(id=member.member_id)
    index = read_index(viewer, selection.search)
    case = _case(viewer, person, member.slug, selection, index, id, attempt)
    about = {"request": str(id)} if id else {}
    return DeskPage(
        shell=frame(user, member, index, place="queue", selection=selection, **about),
        queue=queue_view(
            viewer,
            member.slug,
            selection,
            index,
            database_now(),
            current=id,
            case=case,
        ),
    )


def _case(
    viewer: Member,
    person: Person,
    slug: str,
    selection: Selection,
    index: Index,
    id: UUID | None,
    attempt: Attempt | None,
) -> CaseView | None:
    if id is None:
        return None
    record = read_case(viewer, person, slug, id)
    return case_view(
        record,
        selection,
        place_of(index, slug, selection, record),
        form=returned_form(record, attempt) if attempt else None,
        notice=told(record, attempt) if attempt else None,
    )
