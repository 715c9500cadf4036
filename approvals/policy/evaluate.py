"""From matching policies to one obligation. Pure: rows and clocks stay outside."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self
from uuid import UUID

from approvals.policy.beforehand import narrowest
from approvals.policy.obligation import (
    DAY,
    HOUR,
    Obligation,
    ReasonDemand,
    Rule,
    Verdict,
    merge_rules,
)
from approvals.policy.selector import SelectorError, Sight, selects

STRICTNESS = list(Verdict)
DEMANDS = list(ReasonDemand)
BELOW_HIGH = frozenset({"low", "medium"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSubject:
    """What a selector may look at."""

    tool: str
    arguments: dict[str, Any]
    target: Any
    risk: str
    environment: str
    agent: str
    subject: str
    facts: dict[str, Any]

    def variables(self) -> dict[str, Any]:
        return {
            "tool": self.tool,
            "arguments": self.arguments,
            "target": self.target,
            "risk": self.risk,
            "environment": self.environment,
            "agent": self.agent,
            "session": {"subject": self.subject},
            "facts": self.facts,
        }


@dataclass(frozen=True, slots=True)
class Statement:
    """One policy's current revision, as the evaluator reads it."""

    policy: UUID
    revision: int
    digest: str
    definition: dict[str, Any]
    author: UUID | None = None  # None: nobody alone, since another person cosigned it

    @property
    def verdict(self) -> Verdict:
        return Verdict(self.definition.get("verdict", "require_review"))

    @property
    def in_doubt(self) -> Self:
        """What it still says where nobody can tell whether it is about the action."""
        unsaid = {"break_glass": False, "standing": None}
        return replace(self, definition={**self.definition, **unsaid})


def evaluate(policies: Iterable[Statement], action: ActionSubject) -> Obligation:
    """The obligation of all matching policies; without one, a review."""
    sight = Sight(action.variables())
    found = (said_of(one, sight) for one in policies)
    return combine([one for one in found if one is not None], action.risk)


def serves_itself(policy: Statement, side: frozenset[UUID]) -> bool:
    """Whether it would let its own author's side through: it does not count then."""
    return policy.verdict is Verdict.ALLOW and policy.author in side


def said_of(policy: Statement, sight: Sight) -> Statement | None:
    """The policy where it matches, or None.

    A selector that errs matches where that is stricter, and never to allow anything.
    """
    try:
        holds = selects(policy.definition.get("selector", "true"), sight)
    except SelectorError:
        return None if policy.verdict is Verdict.ALLOW else policy.in_doubt
    return policy if holds else None


def combine(matching: Sequence[Statement], risk: str) -> Obligation:
    """What these policies owe together for an action of that risk."""
    said = [one.definition for one in matching]
    verdict = max(
        (one.verdict for one in matching),
        key=STRICTNESS.index,
        default=Verdict.REQUIRE_REVIEW,
    )
    rules = _rules(said, verdict)
    return Obligation(
        verdict=verdict,
        rules=rules,
        decide_within=min((d.get("decide_within", DAY) for d in said), default=DAY),
        use_within=min((d.get("use_within", HOUR) for d in said), default=HOUR),
        wait=max((d.get("wait", 0) for d in said), default=0),
        reason=_strictest_demand(said),
        reauthentication=_freshest(said),
        editor_counts=_editor_counts(said, rules, risk),
        break_glass=bool(said) and all(d.get("break_glass") is True for d in said),
        queue=next((d["queue"] for d in said if d.get("queue")), None),
        policies=tuple((one.policy, one.revision, one.digest) for one in matching),
        standing=narrowest([d.get("standing") for d in said]),
    )


def _rules(said: Sequence[dict[str, Any]], verdict: Verdict) -> tuple[Rule, ...]:
    """The union; a review that names no rule still needs one person."""
    rules = merge_rules(Rule.from_json(r) for d in said for r in d.get("rules", []))
    if verdict is Verdict.REQUIRE_REVIEW and not rules:
        return (Rule(),)
    return rules


def _strictest_demand(said: Sequence[dict[str, Any]]) -> ReasonDemand:
    demands = [ReasonDemand(d.get("reason", ReasonDemand.ON_REJECT)) for d in said]
    return max(demands, key=DEMANDS.index, default=ReasonDemand.ON_REJECT)


def _freshest(said: Sequence[dict[str, Any]]) -> int | None:
    asked = [d["reauthentication"] for d in said if d.get("reauthentication")]
    return min(asked, default=None)


def _editor_counts(
    said: Sequence[dict[str, Any]], rules: Sequence[Rule], risk: str
) -> bool:
    """What the policies say of it; where none does, only for small things."""
    stated = [d["editor_counts"] for d in said if "editor_counts" in d]
    if stated:
        return all(stated)
    return sum(rule.approvals for rule in rules) == 1 and risk in BELOW_HIGH
