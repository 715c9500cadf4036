"""What is owed before an action may happen, as frozen values and as JSON."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Self
from uuid import UUID

from approvals.policy.beforehand import Bounds

DAY: Final = 24 * 60 * 60
HOUR: Final = 60 * 60


class Verdict(StrEnum):
    """In rising strictness: the strictest of all matching policies holds."""

    ALLOW = "allow"
    REQUIRE_REVIEW = "require_review"
    DENY = "deny"


class ReasonDemand(StrEnum):
    """When a decision must give its reason, in rising strictness."""

    NONE = "none"
    ON_REJECT = "on_reject"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Eligible:
    """Whose decision counts for a rule.

    Holders of `permission` on the request's queue who are also, where given, in one
    of `groups` (tenant group ids) or among `members` (member ids).
    """

    permission: str = "decide"
    groups: frozenset[UUID] = frozenset()
    members: frozenset[UUID] = frozenset()

    def as_json(self) -> dict[str, Any]:
        return {
            "permission": self.permission,
            "groups": sorted(map(str, self.groups)),
            "members": sorted(map(str, self.members)),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        return cls(
            permission=value.get("permission", "decide"),
            groups=frozenset(map(UUID, value.get("groups", []))),
            members=frozenset(map(UUID, value.get("members", []))),
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """So many distinct people of this kind; so many denials end it."""

    eligible: Eligible = Eligible()
    approvals: int = 1
    denials: int = 1

    def as_json(self) -> dict[str, Any]:
        return {
            "eligible": self.eligible.as_json(),
            "approvals": self.approvals,
            "denials": self.denials,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        return cls(
            eligible=Eligible.from_json(value.get("eligible", {})),
            approvals=value.get("approvals", 1),
            denials=value.get("denials", 1),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """The union of what all matching policies owe. Durations in seconds."""

    verdict: Verdict
    rules: tuple[Rule, ...] = ()
    decide_within: int = DAY
    use_within: int = HOUR
    wait: int = 0
    reason: ReasonDemand = ReasonDemand.ON_REJECT
    reauthentication: int | None = None  # seconds since sign-in; None: not asked
    editor_counts: bool = False
    break_glass: bool = False  # whether every policy lets one person approve alone
    queue: str | None = None  # slug; None: the tenant's default
    policies: tuple[tuple[UUID, int, str], ...] = ()  # id, revision, digest (hex)
    standing: Bounds | None = None  # what every matching policy permits; None: nothing

    @property
    def approvals_needed(self) -> int:
        """How many keys must turn, over all rules."""
        return sum(rule.approvals for rule in self.rules)

    @property
    def beforehand(self) -> Bounds | None:
        """How far one person may agree beforehand, where one is enough at all.

        Never where several must agree, or where a sign-in must be fresh at the time.
        """
        alone = self.approvals_needed == 1 and self.reauthentication is None
        reviewed = self.verdict is Verdict.REQUIRE_REVIEW
        return self.standing if alone and reviewed else None

    def as_json(self) -> dict[str, Any]:
        """The shape pinned in an envelope."""
        standing = {"standing": self.standing.as_json()} if self.standing else {}
        return {
            "verdict": self.verdict.value,
            "rules": [rule.as_json() for rule in self.rules],
            "decide_within": self.decide_within,
            "use_within": self.use_within,
            "wait": self.wait,
            "reason": self.reason.value,
            "reauthentication": self.reauthentication,
            "editor_counts": self.editor_counts,
            "break_glass": self.break_glass,
            "queue": self.queue,
            "policies": [
                {"id": str(policy), "revision": number, "digest": digest}
                for policy, number, digest in self.policies
            ],
            **standing,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        return cls(
            verdict=Verdict(value["verdict"]),
            rules=tuple(Rule.from_json(rule) for rule in value["rules"]),
            decide_within=value["decide_within"],
            use_within=value["use_within"],
            wait=value["wait"],
            reason=ReasonDemand(value["reason"]),
            reauthentication=value["reauthentication"],
            editor_counts=value["editor_counts"],
            break_glass=value.get("break_glass", False) is True,
            queue=value["queue"],
            policies=tuple(
                (UUID(one["id"]), one["revision"], one["digest"])
                for one in value["policies"]
            ),
            standing=Bounds.from_json(value["standing"])
            if "standing" in value
            else None,
        )


def merge_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Rules about the same people merge: the larger N, the fewer denials."""
    merged: dict[Eligible, Rule] = {}
    for rule in rules:
        other = merged.get(rule.eligible, rule)
        merged[rule.eligible] = replace(
            rule,
            approvals=max(rule.approvals, other.approvals),
            denials=min(rule.denials, other.denials),
        )
    return tuple(merged.values())
