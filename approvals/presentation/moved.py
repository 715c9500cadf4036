"""A time that moved: both of them, where a reader would see that they differ."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Moved:
    """From one time to another."""

    before: datetime
    after: datetime


def moved(before: datetime | None, after: datetime | None) -> Moved | None:
    """None where both are the same minute, or one of them is not known."""
    if before is None or after is None or _minute(before) == _minute(after):
        return None
    return Moved(before, after)


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)
