"""The forms of text that a schema can name, and how each is asked of a person.

A schema's `format` binds nobody who writes through the API (it is an annotation in JSON
Schema 2020-12). It binds what a person types, whom a page has told of it.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from jsonschema import FormatChecker

ASKED: Final[Mapping[str, str]] = {
    "date": "Write a date like 2026-12-01.",
    "date-time": "Write a date and time like 2026-12-01T09:30:00Z.",
    "email": "Write an e-mail address like name@example.com.",
    "uri": "Write an address like https://example.com/page.",
    "uuid": "Write an id like 123e4567-e89b-12d3-a456-426614174000.",
}
# The library leaves date-time and uri to packages of their own, and takes any @ for mail.
FORMATS: Final = FormatChecker(("date", "uuid"))

MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})"
)
MAILBOX: Final = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+")
ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")


@FORMATS.checks("date-time", raises=ValueError)
def _is_moment(text: object) -> bool:
    if not isinstance(text, str):
        return True
    return bool(MOMENT.fullmatch(text.upper()) and datetime.fromisoformat(text.upper()))


@FORMATS.checks("email")
def _is_mailbox(text: object) -> bool:
    return not isinstance(text, str) or bool(MAILBOX.fullmatch(text))


@FORMATS.checks("uri")
def _is_address(text: object) -> bool:
    return not isinstance(text, str) or bool(ADDRESS.fullmatch(text))
