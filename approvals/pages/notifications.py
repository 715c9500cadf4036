"""The page of a person's own notifications; inside the tenant's scope."""

from collections.abc import Mapping
from datetime import time
from functools import cache
from typing import Final
from uuid import UUID
from zoneinfo import available_timezones

from django.conf import settings

from approvals.models import NoticeSettings
from approvals.models.notice import Pace
from approvals.notices import NOTICES
from approvals.pages.addresses import address
from approvals.presentation.notifications import (
    KindRow,
    NotificationsView,
    PaceChoice,
)
from approvals.presentation.shell import Notice

KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "waiting": ("A request waits for me", "It needs a key that I may turn."),
    "asked": ("I am asked", "Somebody gave me a request, or named me with an @."),
    "reminder": ("A reminder", "What waits for me has waited for long."),
    "escalation": ("An escalation", "Others did not answer, so I am asked too."),
    "outcome": ("What became of mine", "Of my agents’ requests, or of my approval."),
    "glass": ("Broken glass", "Somebody acted in an emergency. For who oversees."),
}
TIMES: Final = ("daily_at", "quiet_from", "quiet_until")
SAVED: Final = Notice(
    title="Kept",
    sentence="It holds for what happens from now on.",
    code="",
    tone="ok",
    icon="pass",
)


def notifications_view(
    slug: str,
    member_id: UUID,
    email: str,
    *,
    typed: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    notice: Notice | None = None,
) -> NotificationsView:
    """As it is set, or as it was typed."""
    row = NoticeSettings.objects.filter(member_id=member_id).first()
    said = typed if typed is not None else _said(row or NoticeSettings())
    return NotificationsView(
        here=address("notifications", slug),
        email=email,
        mails=settings.MAILS,
        kinds=tuple(_kind(name, said.get(name, "")) for name in NOTICES),
        typed=said,
        zones=zones(),
        errors=errors or {},
        notice=notice,
    )


@cache
def zones() -> tuple[str, ...]:
    """The names of places, in order, and UTC before them."""
    places = (one for one in available_timezones() if "/" in one)
    return ("UTC", *sorted(one for one in places if not one.startswith("Etc/")))


def _said(row: NoticeSettings) -> dict[str, str]:
    paces = {name: getattr(row, name) for name in NOTICES}
    return {**paces, "zone": row.zone, **{n: _text(getattr(row, n)) for n in TIMES}}


def _text(clock: time | None) -> str:
    return clock.strftime("%H:%M") if clock else ""


def _kind(name: str, chosen: str) -> KindRow:
    title, sentence = KINDS[name]
    paces = tuple(
        PaceChoice(value=one.value, text=one.label, chosen=one.value == chosen)
        for one in Pace
    )
    return KindRow(name=name, title=title, sentence=sentence, paces=paces)
