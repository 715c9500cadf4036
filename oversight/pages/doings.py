"""What one member did, newest first, from the chain; inside the tenant's scope."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet

from approvals.pages.addresses import address
from approvals.presentation.marks import mark
from approvals.presentation.shell import Empty, Pages
from audit.browsing import Wanted, entries
from audit.models import Entry
from kernel.clock import database_now
from kernel.problems import NOT_FOUND
from oversight.pages.audit import place_of, subject_of
from oversight.presentation.doings import Doing, DoingsView
from oversight.presentation.forms import Choice
from tenants.access import Membership
from tenants.models import Member
from tenants.queries import addresses_of

PAGE: Final = 50
DECISIONS: Final = (
    "approval.",
    "decision.",
    "request.",  # but what is an edit or a remark
    "grant.",
    "effect.",
    "run.",
    "standing.",
)
REMARKS: Final = ("request.taken", "request.released")
SORTS: Final[Mapping[str, str]] = {
    "decisions": "Decisions",
    "edits": "Edits",
    "comments": "Comments",
    "sign-ins": "Signing in",
    "administration": "Administration",
}


def doings_view(member: Membership, of: UUID, sort: str, before: str) -> DoingsView:
    """One page. Raises `not_found` for nobody of the tenant's, or no such sort."""
    person = Member.objects.select_related("user").filter(id=of).first()
    if person is None or (sort and sort not in SORTS):
        raise NOT_FOUND()
    found = list(_found(member, person, sort, before)[: PAGE + 1])
    here = address("person_history", member.slug, of)
    return DoingsView(
        now=database_now(),
        name=person.name,
        email=addresses_of([person])[person.id],
        crumbs=_crumbs(member, person),
        here=here,
        sorts=tuple(
            Choice(value=value, text=text, chosen=value == sort)
            for value, text in SORTS.items()
        ),
        rows=tuple(_doing(member.slug, row) for row in found[:PAGE]),
        pages=_pages(member.slug, of, sort, before, found),
        empty=None if found else _empty(sort, here),
    )


def _found(
    member: Membership, person: Member, sort: str, before: str
) -> QuerySet[Entry]:
    number = int(before) if before.isdecimal() and len(before) < 19 else None
    wanted = Wanted(actor=str(person.id), before=number)
    rows = entries(member.tenant_id, wanted).filter(actor_type="member")
    return rows.filter(_of_sort(sort, person)) if sort else rows


def _of_sort(sort: str, person: Member) -> Q:
    """The same as `_sort_of`, for the database."""
    decided = Q()
    for beginning in DECISIONS:
        decided |= Q(kind__startswith=beginning)
    edits = Q(kind="request.revised")
    remarks = Q(kind__startswith="comment.") | Q(kind__in=REMARKS)
    each = {
        "decisions": decided & ~edits & ~remarks,
        "edits": edits,
        "comments": remarks,
        "sign-ins": Q(kind__startswith="member.", subject_id=person.id),
    }
    if sort in each:
        return each[sort]
    rest = Q()
    for one in each.values():
        rest |= one
    return ~rest


def _sort_of(row: Entry) -> str:
    if row.kind == "request.revised":
        return "edits"
    if row.kind.startswith("comment.") or row.kind in REMARKS:
        return "comments"
    if row.kind.startswith(DECISIONS):
        return "decisions"
    if row.kind.startswith("member.") and str(row.subject_id) == row.actor_id:
        return "sign-ins"
    return "administration"


def _doing(slug: str, row: Entry) -> Doing:
    return Doing(
        seq=row.seq,
        at=row.at,
        sort=SORTS[_sort_of(row)],
        what=_what(row),
        about=_about(row),
        href=_href(slug, row),
        entry_href=address("audit", slug, query={"before": str(row.seq + 1)}),
    )


def _what(row: Entry) -> str:
    said = row.kind.replace(".", " ").replace("_", " ").capitalize()
    if row.kind == "decision.recorded":
        return mark("verdict", row.data["verdict"]).word.capitalize()
    methods = row.data.get("methods")
    return f"{said} with {', '.join(methods)}" if methods else said


def _about(row: Entry) -> str:
    asked = _request(row)
    return f"REQ-{asked.hex[-8:].upper()}" if asked else subject_of(row)


def _href(slug: str, row: Entry) -> str:
    asked = _request(row)
    return address("case", slug, asked) if asked else place_of(slug, row)


def _request(row: Entry) -> UUID | None:
    """Which request a decision, a grant or a comment was about."""
    said = row.data.get("request")
    try:
        return UUID(said) if isinstance(said, str) else None
    except ValueError:
        return None


def _crumbs(member: Membership, person: Member) -> tuple[tuple[str, str], ...]:
    """To the person's page for those who administer, and to the log for all."""
    if not member.administers:
        return ((address("audit", member.slug), "Audit log"),)
    return (
        (address("people", member.slug), "People"),
        (address("person", member.slug, person.id), person.name),
    )


def _pages(slug: str, of: UUID, sort: str, before: str, found: list[Entry]) -> Pages:
    more = len(found) > PAGE
    older = {"sort": sort, "before": str(found[PAGE - 1].seq)} if more else {}
    first = address("person_history", slug, of, query={"sort": sort})
    return Pages(
        shown=len(found[:PAGE]),
        previous_href=first if before else "",
        next_href=address("person_history", slug, of, query=older) if more else "",
    )


def _empty(sort: str, here: str) -> Empty:
    if not sort:
        return Empty(
            title="They have done nothing here so far",
            sentence="What they do gets a signed entry, and is listed here.",
            icon="audit",
        )
    return Empty(
        title="Nothing of that sort",
        sentence="The log has no such entry by this person.",
        icon="audit",
        label="Show everything",
        href=here,
    )
