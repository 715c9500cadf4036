"""For how long a request can be put aside."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

LENGTHS: Final[Mapping[str, timedelta]] = {
    "1h": timedelta(hours=1),
    "4h": timedelta(hours=4),
    "1d": timedelta(days=1),
    "3d": timedelta(days=3),
    "7d": timedelta(days=7),
}


def lengths_before(due: datetime, now: datetime) -> tuple[tuple[str, timedelta], ...]:
    """Those after which it can still be decided, by the name that a form sends."""
    return tuple(
        (name, length) for name, length in LENGTHS.items() if now + length < due
    )
