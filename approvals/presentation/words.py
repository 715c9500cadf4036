"""Figures put into words: spans of time, digests, sizes, counts."""

from datetime import timedelta

MINUTE, HOUR, DAY = 60, 3600, 86400


def span(length: timedelta) -> str:
    """A span as people say it: '38 min', '1 h 42 min', '14 h', '2 days'.

    The script that ticks (static/js/time.js) says it in the same words.
    """
    seconds = max(0, int(length.total_seconds()))
    if seconds < MINUTE:
        return f"{seconds} s"
    if seconds < HOUR:
        return f"{seconds // MINUTE} min"
    if seconds < DAY:
        return hours(seconds)
    return counted(seconds // DAY, "day")


def hours(seconds: int) -> str:
    """Minutes matter until ten hours, and only when there are any."""
    whole, rest = divmod(seconds // MINUTE, 60)
    return f"{whole} h {rest} min" if rest and whole < 10 else f"{whole} h"


def counted(number: int, noun: str, plural: str = "") -> str:
    """'1 day', '2,310 records'."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def digest_words(digest: str, *, pairs: int = 2) -> str:
    """A hex digest in short: '9f3c 2b71 … 77ae e04d', or one group a side."""
    groups = [digest[at : at + 4] for at in range(0, len(digest), 4)]
    if len(groups) <= 2 * pairs:
        return " ".join(groups)
    return " ".join([*groups[:pairs], "…", *groups[-pairs:]])
