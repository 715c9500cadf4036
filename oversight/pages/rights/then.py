"""Who had which rights at a time: replayed from the signed entries of the chain.

Only what was signed is believed, read from its signed bytes; rows of today say what
things are called, and nothing else. What is in no entry cannot be told: whether a person
could sign in at all is the installation's matter, and in no tenant's log. Whoever stands in
for somebody must have the right themselves, so that delegations add nobody.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from audit.evidence import is_genuine
from audit.keys import trusted_keys
from audit.models import Entry
from tenants.access import OVERSEERS

type Said = Mapping[str, Any]


@dataclass(slots=True)
class Membership:
    """A member as of then; `until` is a guest's end."""

    role: str
    active: bool = True
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Right:
    """Somebody's right on a queue: `of` is group or member."""

    queue: UUID
    right: str
    of: str
    holder: UUID


@dataclass(slots=True)
class Ownership:
    """Since and until when somebody answered for an agent."""

    member: UUID
    since: datetime
    until: datetime | None = None


@dataclass(slots=True)
class Agreed:
    """A standing approval as it was made: `digest` (hex) is of all that it covers."""

    digest: str
    agent: UUID
    tool: str
    environment: str
    expires_at: datetime
    uses: int
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class ToolThen:
    """A tool as of then."""

    digest: str
    mode: str
    risk: str
    reviewed: bool
    enabled: bool


@dataclass(slots=True)
class Then:
    """The tenant's rights `at` a time. `entries` were read; `unsigned` not believed."""

    at: datetime
    entries: int = 0
    unsigned: int = 0
    solo: bool = False
    members: dict[UUID, Membership] = field(default_factory=dict)
    groups: dict[UUID, set[UUID]] = field(default_factory=lambda: defaultdict(set))
    rights: set[Right] = field(default_factory=set)
    owners: dict[UUID, list[Ownership]] = field(
        default_factory=lambda: defaultdict(list)
    )
    policies: dict[UUID, tuple[int, str]] = field(default_factory=dict)
    """In force: their revision, and the digest (hex) of what it says."""
    authors: dict[tuple[UUID, int], UUID | None] = field(default_factory=dict)
    cosigned: set[tuple[UUID, int]] = field(default_factory=set)
    agreed: dict[UUID, Agreed] = field(default_factory=dict)
    tools: dict[UUID, ToolThen] = field(default_factory=dict)

    def active(self) -> frozenset[UUID]:
        """Members who could act; guests hold no right, and are none of them."""
        return frozenset(
            id for id, one in self.members.items() if one.active and one.until is None
        )

    def holders(self, queue: UUID, right: str) -> frozenset[UUID]:
        """Who held the right on the queue, of their own or by a group."""
        held = [r for r in self.rights if (r.queue, r.right) == (queue, right)]
        people = {r.holder for r in held if r.of == "member"}
        for one in held:
            if one.of == "group":
                people |= self.groups[one.holder]
        return frozenset(people) & self.active()

    def seeing(self, queue: UUID) -> frozenset[UUID]:
        """Who saw what was asked on the queue."""
        overseers = {id for id in self.active() if self.members[id].role in OVERSEERS}
        return self.holders(queue, "view") | overseers

    def in_groups(self, groups: frozenset[UUID]) -> frozenset[UUID]:
        return frozenset().union(*(self.groups[one] for one in groups))

    def owners_since(self, agent: UUID, since: datetime) -> frozenset[UUID]:
        """Who answered for the agent at any time from `since` to then."""
        return frozenset(
            one.member
            for one in self.owners[agent]
            if one.until is None or one.until >= since
        )

    def lone_authors(self, pinned: Mapping[UUID, int]) -> frozenset[UUID]:
        """Authors of these revisions, by policy, that nobody else had cosigned."""
        found = {
            self.authors.get(one) for one in pinned.items() if one not in self.cosigned
        }
        return frozenset(author for author in found if author is not None)


def rights_at(tenant_id: UUID, at: datetime) -> Then:
    """Replay the chain up to that time, inside the tenant's scope."""
    then, keys = Then(at=at), trusted_keys()
    rows = Entry.objects.filter(tenant_id=tenant_id, kind__in=list(_STEPS), at__lte=at)
    for row in rows.order_by("seq").iterator(chunk_size=500):
        then.entries += 1
        body = json.loads(bytes(row.body)) if is_genuine(row, keys) else {}
        if body.get("kind") not in _STEPS:
            then.unsigned += 1
            continue
        about = body["subject"]["id"]
        when = datetime.fromisoformat(body["at"])
        _STEPS[body["kind"]](then, UUID(about), body["data"], when)
    return then


def _added(then: Then, id: UUID, said: Said, at: datetime) -> None:
    until = said.get("until")
    ends = datetime.fromisoformat(until) if until else None
    then.members[id] = Membership(role=said["role"], until=ends)


# What is said of somebody whose coming in is not believed makes them no member.
def _role_changed(then: Then, id: UUID, said: Said, at: datetime) -> None:
    if one := then.members.get(id):
        one.role = said["to"]


def _deactivated(then: Then, id: UUID, said: Said, at: datetime) -> None:
    if one := then.members.get(id):
        one.active = False


def _reactivated(then: Then, id: UUID, said: Said, at: datetime) -> None:
    if one := then.members.get(id):
        one.active = True


def _extended(then: Then, id: UUID, said: Said, at: datetime) -> None:
    if one := then.members.get(id):
        one.until = datetime.fromisoformat(said["to"])


def _joined(then: Then, id: UUID, said: Said, at: datetime) -> None:
    then.groups[id].add(UUID(said["member"]))


def _left(then: Then, id: UUID, said: Said, at: datetime) -> None:
    then.groups[id].discard(UUID(said["member"]))


def _given(then: Then, id: UUID, said: Said, at: datetime) -> None:
    then.rights.add(_right(id, said))


def _taken(then: Then, id: UUID, said: Said, at: datetime) -> None:
    then.rights.discard(_right(id, said))


def _right(queue: UUID, said: Said) -> Right:
    of = "group" if "group" in said else "member"
    return Right(queue, said["right"], of, UUID(said[of]))


def _owns(then: Then, id: UUID, said: Said, at: datetime) -> None:
    then.owners[id].append(Ownership(UUID(said["member"]), at))


def _owns_no_more(then: Then, id: UUID, said: Said, at: datetime) -> None:
    for one in then.owners[id]:
        if one.member == UUID(said["member"]) and one.until is None:
            one.until = at


def _published(then: Then, id: UUID, said: Said, at: datetime) -> None:
    author = said["author"]
    then.policies[id] = (said["revision"], said["digest"])
    then.authors[id, said["revision"]] = UUID(author) if author else None


def _cosigned(then: Then, id: UUID, said: Said, at: datetime) -> None:
    then.cosigned.add((id, said["revision"]))


def _retired(then: Then, id: UUID, said: Said, at: datetime) -> None:
    then.policies.pop(id, None)


def _agreed(then: Then, id: UUID, said: Said, at: datetime) -> None:
    then.agreed[id] = Agreed(
        digest=said["digest"],
        agent=UUID(said["agent"]),
        tool=said["tool"],
        environment=said["environment"],
        expires_at=datetime.fromisoformat(said["expires_at"]),
        uses=said["uses"],
    )


def _agreed_no_more(then: Then, id: UUID, said: Said, at: datetime) -> None:
    if one := then.agreed.get(id):
        one.revoked = True


def _tool(then: Then, id: UUID, said: Said, at: datetime) -> None:
    then.tools[id] = ToolThen(
        digest=said["digest"],
        mode=said["mode"],
        risk=said["risk"],
        reviewed=said["reviewed"],
        enabled=said.get("enabled", True),
    )


def _tool_off(then: Then, id: UUID, said: Said, at: datetime) -> None:
    _tool(then, id, {**said, "enabled": False}, at)


def _founded(then: Then, id: UUID, said: Said, at: datetime) -> None:
    then.solo = said["solo"]


def _solo_ended(then: Then, id: UUID, said: Said, at: datetime) -> None:
    then.solo = False


_STEPS: Final[Mapping[str, Callable[[Then, UUID, Said, datetime], None]]] = {
    "tenant.created": _founded,
    "tenant.solo_ended": _solo_ended,
    "member.added": _added,
    "member.role_changed": _role_changed,
    "member.deactivated": _deactivated,
    "member.reactivated": _reactivated,
    "member.guest_extended": _extended,
    "group.member_added": _joined,
    "group.member_removed": _left,
    "queue.right_given": _given,
    "queue.right_taken": _taken,
    "agent.owner_added": _owns,
    "agent.owner_ended": _owns_no_more,
    "policy.published": _published,
    "policy.cosigned": _cosigned,
    "policy.retired": _retired,
    "standing.created": _agreed,
    "standing.revoked": _agreed_no_more,
    "tool.registered": _tool,
    "tool.changed": _tool,
    "tool.disabled": _tool_off,
    "tool.enabled": _tool,
}
