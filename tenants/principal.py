"""Who is asking, once it has been proved. Plain values: no row, no request."""

from dataclasses import dataclass
from uuid import UUID

from audit.append import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """An agent, as its key proved it to be for this one request."""

    tenant_id: UUID
    agent_id: UUID
    key_id: UUID
    environment: str
    scopes: frozenset[str]

    @property
    def actor(self) -> Actor:
        return Actor(type="agent", id=self.agent_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A member of one tenant, signed in through a browser session.

    `authenticated_ago` (seconds) and `methods` say how they proved who they are; with
    `factors`, kinds of second factor, only one of those proves it; with an `identity` (an
    external one) only its provider does. An age and no time, because it is measured with
    one process's clock, which is never compared with another's.
    """

    tenant_id: UUID
    member_id: UUID
    user_id: UUID
    authenticated_ago: float | None = None
    methods: tuple[str, ...] = ()
    factors: frozenset[str] = frozenset()
    identity: UUID | None = None

    @property
    def actor(self) -> Actor:
        return Actor(type="member", id=self.member_id)
