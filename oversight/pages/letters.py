"""Letters that did not leave yet, or never will; inside the tenant's scope."""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from django.conf import settings

from approvals.pages.addresses import address
from approvals.presentation.shell import Empty, Notice
from kernel.clock import database_now
from oversight.pages.keyset import PAGE, from_after, pages_after
from oversight.presentation.letters import LetterRow, LettersView
from tenants.access import Membership
from tenants.models import Invitation, Mail
from tenants.queries import addresses_of

NOTHING: Final = Empty(
    title="No letter waits",
    sentence="What could not be mailed stands here, with the reason.",
    icon="pass",
)


def letters_view(
    member: Membership, after: str, *, notice: Notice | None = None
) -> LettersView:
    """One page of them, the oldest first."""
    rows = Mail.objects.filter(state__in=[Mail.State.QUEUED, Mail.State.DEAD])
    found = from_after(rows.select_related("member__user"), "id", _id(after))
    return LettersView(
        rows=_rows(found[:PAGE]),
        pages=pages_after(
            "letters", member.slug, after, [str(one.id) for one in found]
        ),
        back_href=address("system", member.slug),
        here=address("letters", member.slug),
        mails=settings.MAILS,
        empty=None if found else NOTHING,
        now=database_now(),
        notice=notice,
    )


def _rows(mails: list[Mail]) -> tuple[LetterRow, ...]:
    invited = _invited(one.about for one in mails if one.member_id is None)
    addresses = addresses_of({one.member for one in mails if one.member})
    return tuple(
        LetterRow(
            id=str(one.id),
            kind=one.kind.replace("_", " "),
            to=addresses[one.member.id] if one.member else invited.get(one.about, ""),
            state="retry" if one.code and one.due_at else one.state,
            attempts=one.attempts,
            code=one.code,
            written_at=one.created_at,
            due_at=one.due_at,
        )
        for one in mails
    )


def _invited(ids: Iterable[UUID]) -> Mapping[UUID, str]:
    rows = Invitation.objects.filter(id__in=list(ids))
    return dict(rows.values_list("id", "email"))


def _id(text: str) -> str:
    """An id that is none asks for the first page."""
    try:
        return str(UUID(text))
    except ValueError:
        return ""
