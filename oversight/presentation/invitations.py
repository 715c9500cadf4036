"""Whoever is asked in, and has not come yet."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRow:
    """One of them. `state` is open, ended or void: whoever sent it may not any more.

    `mail` says how the letter fares: empty where none is sent.
    """

    id: str
    email: str
    name: str
    role: str
    groups: tuple[str, ...]
    invited_by: str
    state: str
    mail: str
    sent_at: datetime
    expires_at: datetime
    may_touch: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLink:
    """A link for the admin to hand over, shown once."""

    email: str
    href: str
