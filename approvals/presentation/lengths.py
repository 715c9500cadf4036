"""Lengths of time, as they are written and as they are typed."""

import re
from typing import Final

DAY: Final = 86_400
HOUR: Final = 3_600
MINUTE: Final = 60
UNITS: Final = ((DAY, "day", "days"), (HOUR, "h", "h"), (MINUTE, "min", "min"))
LENGTH: Final = re.compile(
    r"([0-9]{1,8})\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)\b[\s,]*"
)
SECONDS: Final = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY}
MOST_SECONDS: Final = 366 * DAY
NOT_A_LENGTH: Final = "Say how long with a unit: 15 min, 4 h, 2 days."
TOO_LONG: Final = "At most 366 days."


def length_words(seconds: int) -> str:
    """Exactly so long: '1 day 2 h 30 min', '45 s', 'none' for nothing."""
    said, left = [], seconds
    for unit, one, many in UNITS:
        count, left = divmod(left, unit)
        if count:
            said.append(f"{count} {one if count == 1 else many}")
    if left or not said:
        said.append(f"{left} s" if seconds else "none")
    return " ".join(said)


def seconds_in(text: str) -> int | str:
    """A length of time as it was typed; or a sentence about what is wrong with it."""
    found = list(LENGTH.finditer(text.strip().lower()))
    if "".join(one[0] for one in found) != text.strip().lower() or not found:
        return NOT_A_LENGTH
    seconds = sum(int(one[1]) * SECONDS[one[2][0]] for one in found)
    return TOO_LONG if seconds > MOST_SECONDS else seconds
