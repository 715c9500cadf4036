"""What somebody wants to be told of by mail: their own to say."""

from dataclasses import dataclass
from datetime import time
from typing import Final
from zoneinfo import available_timezones

from approvals.models import NoticeSettings
from approvals.models.notice import Pace
from kernel.problems import declare
from tenants.access import NOT_PERMITTED
from tenants.principal import Person
from tenants.queries import active_member
from tenants.verbs import Verb, perform

WISH_INVALID: Final = declare(
    "notification_settings_invalid", status=422, title="This cannot be set so"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """All of it: a pace for each kind, and the person's times of day in their zone."""

    waiting: Pace
    asked: Pace
    reminder: Pace
    escalation: Pace
    outcome: Pace
    glass: Pace
    zone: str
    daily_at: time
    quiet_from: time | None = None
    quiet_until: time | None = None


def save_notice_settings(person: Person, wish: Wish) -> None:
    """Keep what the person wants from now on; what is written down already leaves so.

    Raises `notification_settings_invalid` (422), `not_permitted` (403).
    """
    _check(wish)

    def work(verb: Verb) -> None:
        if active_member(person.tenant_id, person.member_id) is None:
            raise NOT_PERMITTED()
        values = {name: getattr(wish, name) for name in Wish.__slots__}
        whose = {"tenant_id": person.tenant_id, "member_id": person.member_id}
        if not NoticeSettings.objects.filter(**whose).update(**values):
            NoticeSettings.objects.create(**whose, **values)
        subject = ("member", person.member_id)
        verb.record("notifications.changed", actor=person.actor, subject=subject)

    perform(person.tenant_id, work)


def _check(wish: Wish) -> None:
    if wish.zone not in available_timezones():
        raise WISH_INVALID("There is no such time zone.", "/zone")
    if (wish.quiet_from is None) != (wish.quiet_until is None):
        missing = "quiet_from" if wish.quiet_from is None else "quiet_until"
        raise WISH_INVALID("Quiet hours begin and end.", f"/{missing}")
    if wish.quiet_from is not None and wish.quiet_from == wish.quiet_until:
        raise WISH_INVALID(
            "They would last all day: choose “not at all”.", "/quiet_until"
        )
