"""Which entries a person wants to see, from an address or a form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Final, Self
from uuid import UUID

from django.utils import timezone
from django.utils.dateparse import parse_date

from audit.browsing import Wanted

NO_ID: Final = "This is no id. Copy it from a page or from an entry."
NO_DATE: Final = "Write the day as 2026-11-30."
FIELDS: Final = ("kind", "actor", "subject", "since", "until")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What was typed, what it asks for, and what is wrong with it, by field.

    A field that is wrong shows nothing, rather than everything.
    """

    typed: Mapping[str, str] = field(default_factory=dict)
    wanted: Wanted = field(default_factory=Wanted)
    errors: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """Days are those of the installation's time zone; `until` is included."""
        typed = {name: _text(given, name) for name in FIELDS}
        errors: dict[str, str] = {}
        until = _day(typed, "until", errors)
        wanted = Wanted(
            kind=typed["kind"],
            actor=typed["actor"],
            subject=_subject(typed, errors),
            since=_midnight(_day(typed, "since", errors)),
            until=_midnight(until + timedelta(days=1) if until else None),
            before=_before(given.get("before", "")),
        )
        return cls(typed=typed, wanted=wanted, errors=errors)

    @property
    def is_filtered(self) -> bool:
        return any(self.typed.values())

    @property
    def is_first_page(self) -> bool:
        return self.wanted.before is None


def _text(given: Mapping[str, str], name: str) -> str:
    """Without what PostgreSQL takes in no text, so that there is nothing to find."""
    return given.get(name, "").replace("\0", "").strip()[:200]


def _subject(typed: Mapping[str, str], errors: dict[str, str]) -> UUID | None:
    if not typed["subject"]:
        return None
    try:
        return UUID(typed["subject"])
    except ValueError:
        errors["subject"] = NO_ID
        return None


def _day(typed: Mapping[str, str], name: str, errors: dict[str, str]) -> date | None:
    if not typed[name]:
        return None
    try:
        found = parse_date(typed[name])
    except ValueError:
        found = None
    if found is None or found.year < 2000 or found.year > 9000:
        errors[name] = NO_DATE
        return None
    return found


def _midnight(day: date | None) -> datetime | None:
    if day is None:
        return None
    return timezone.make_aware(datetime.combine(day, time()))


def _before(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 19 else None
