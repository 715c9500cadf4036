"""Identifiers: time-ordered (UUIDv7), so that indexes stay compact."""

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """A fresh UUIDv7. Its order is a convenience, never evidence of time."""
    return uuid7()
