"""Names that people will read in lists and in the audit log, checked where they enter."""

import re
from typing import Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from kernel.problems import declare

NAME_INVALID: Final = declare("name_invalid", status=422, title="This cannot be a name")
EMAIL_INVALID: Final = declare(
    "email_invalid", status=422, title="This is no e-mail address"
)

LONGEST_EMAIL: Final = 254  # characters, as RFC 5321 has it and as a row keeps it

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def is_slug(text: str) -> bool:
    """Whether the text can be part of an address at all."""
    return _SLUG.fullmatch(text) is not None


def checked_slug(text: str) -> str:
    """The text, if it can be part of an address. Raises `name_invalid` (422)."""
    if not is_slug(text):
        raise NAME_INVALID("Use 1 to 63 of a-z, 0-9 and hyphens inside.")
    return text


def checked_name(text: str, *, most: int = 100) -> str:
    """The text without outer white space, if people can read it as one line.

    Raises `name_invalid` (422): also for characters that show nothing, or turn the
    direction of what follows.
    """
    trimmed = text.strip()
    if not (1 <= len(trimmed) <= most and trimmed.isprintable()):
        raise NAME_INVALID(f"Use 1 to {most} visible characters.")
    return trimmed


def checked_email(text: str) -> str:
    """The address in lower case. Raises `email_invalid` (422).

    Also for one that is too long to keep, or has characters that nobody can see.
    """
    try:
        validate_email(text)
    except ValidationError:
        raise EMAIL_INVALID() from None
    address = text.lower()
    if len(address) > LONGEST_EMAIL or not address.isprintable():
        raise EMAIL_INVALID()
    return address
