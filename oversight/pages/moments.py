"""Times that people type, in the installation's zone unless they say another."""

from datetime import UTC, datetime
from typing import Final

from django.utils import timezone
from django.utils.dateparse import parse_datetime

NO_TIME: Final = "Write the time as 2026-11-30T07:30."


def read_moment(typed: str) -> datetime | None:
    """In UTC; None for what is no time."""
    try:
        found = parse_datetime(typed[:40].replace("\0", "").strip())
    except ValueError:
        return None
    if found is None or not 2000 < found.year < 9000:
        return None
    known = found if timezone.is_aware(found) else timezone.make_aware(found)
    return known.astimezone(UTC)  # the database takes no zone that is a day away
