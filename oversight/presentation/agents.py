"""Agents, who answers for them, and the keys that they prove themselves by."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.shell import Empty, Notice, Pages
from oversight.presentation.forms import Choice, Form


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRow:
    """One agent. `state` is on or off; `keys` counts those that still open something."""

    href: str
    name: str
    state: str
    owners: tuple[str, ...]
    environments: tuple[str, ...]
    keys: int
    used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsView:
    """In the context as `agents`; `stop_href` only for those who may stop everything."""

    rows: tuple[AgentRow, ...]
    pages: Pages
    people: tuple[Choice, ...]
    form: Form
    here: str
    stop_href: str
    quota_form: Form
    empty: Empty | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRow:
    """Somebody who answers for the agent; the last one cannot be ended."""

    id: str
    name: str
    active: bool
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """One key, never its text. `state` is live, ending, expired or revoked."""

    id: str
    name: str
    state: str
    environment: str
    scopes: tuple[str, ...]
    issued_by: str
    issued_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None

    @property
    def opens(self) -> bool:
        return self.state in {"live", "ending"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How many questions a minute: what it may, what the tenant says, and what it does.

    `usual` is None where there is too little to say.
    """

    most: int
    of_tenant: int
    asked: int
    usual: int | None
    unusual: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentView:
    """In the context as `agent`. `secret` is a key's text, when it was just made."""

    back_href: str
    here: str
    stop_href: str
    name: str
    state: str
    owners: tuple[OwnerRow, ...]
    others: tuple[Choice, ...]
    keys: tuple[KeyRow, ...]
    more_keys: int
    scopes: tuple[Choice, ...]
    owner_form: Form
    key_form: Form
    quota_form: Form
    pace: Pace
    now: datetime
    secret: str = ""
    notice: Notice | None = None
