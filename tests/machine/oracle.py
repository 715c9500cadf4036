"""Who may count, and what is owed: worked out from rows, without asking the product."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import permutations
from typing import Any, Final
from uuid import UUID

from tests.machine.policies import SELECTORS, Action
from tests.machine.sight import Row, Sight, find

RISKS: Final = ("low", "medium", "high", "critical")
VERDICTS: Final = ("allow", "require_review", "deny")
HOUR: Final = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """What policies ask for: slots by whom they may be filled; None: by anybody."""

    verdict: str
    slots: tuple[frozenset[UUID] | None, ...]
    policies: tuple[tuple[UUID, int], ...]
    wait: int
    use_within: int
    reason: bool  # always demanded
    fresh: int | None  # seconds since the sign-in
    editor_counts: bool
    standing: tuple[Mapping[str, Any], ...] | None = None  # by each policy; None: no


def envelope_of(revision: Row) -> dict[str, Any]:
    """What the sealed bytes say."""
    value = json.loads(bytes(revision.envelope))
    assert isinstance(value, dict)
    return value


def pinned(envelope: Mapping[str, Any]) -> Owed:
    """What was owed when it was asked."""
    said = envelope["obligation"]
    return Owed(
        verdict=said["verdict"],
        slots=_slots(said["rules"]),
        policies=tuple((UUID(p["id"]), p["revision"]) for p in said["policies"]),
        wait=said["wait"],
        use_within=said["use_within"],
        reason=said["reason"] == "always",
        fresh=said["reauthentication"],
        editor_counts=said["editor_counts"],
        standing=(said["standing"],) if "standing" in said else None,
    )


def current(sight: Sight, request: Row, envelope: Mapping[str, Any]) -> Owed:
    """What the policies in force owe for the same action."""
    facts = {one.name: one.value for one in find(sight.facts, run_id=request.run_id)}
    tool, arguments = envelope["tool"]["name"], envelope["arguments"]
    action = Action(tool, arguments, risk_of(sight, request), facts)
    force = {(one.policy, one.current) for one in sight.in_force}
    said = [
        one
        for one in sight.policies
        if (one.policy_id, one.number) in force
        and _matches(one.definition, action)
        and not _serves_itself(sight, request, one)
    ]
    rules = [rule for one in said for rule in one.definition.get("rules", [])]
    verdict = max(
        (one.definition["verdict"] for one in said),
        key=VERDICTS.index,
        default="require_review",
    )
    if verdict == "require_review" and not rules:
        rules = [{}]
    definitions = [one.definition for one in said]
    stated = [d["editor_counts"] for d in definitions if "editor_counts" in d]
    slots = _slots(rules)
    return Owed(
        verdict=verdict,
        slots=slots,
        policies=tuple((one.policy_id, one.number) for one in said),
        wait=max((d.get("wait", 0) for d in definitions), default=0),
        use_within=min((d.get("use_within", HOUR) for d in definitions), default=HOUR),
        reason=any(d.get("reason") == "always" for d in definitions),
        fresh=min(
            (d["reauthentication"] for d in definitions if "reauthentication" in d),
            default=None,
        ),
        editor_counts=all(stated)
        if stated
        else len(slots) == 1 and action.risk in RISKS[:2],
        standing=_standing(definitions),
    )


def _standing(
    definitions: Sequence[Mapping[str, Any]],
) -> tuple[Mapping[str, Any], ...] | None:
    """What each policy permits beforehand; nothing, where one of them does not."""
    said = tuple(one["standing"] for one in definitions if "standing" in one)
    return said if said and len(said) == len(definitions) else None


def permits(owed: Owed, standing: Row) -> bool:
    """Whether one person could agree beforehand, and to as much as this."""
    if owed.standing is None or len(owed.slots) != 1 or owed.fresh is not None:
        return False
    seconds = (standing.expires_at - standing.created_at).total_seconds()
    bounded = {one["path"] for one in standing.constraints if one["kind"] != "exactly"}
    return owed.verdict == "require_review" and all(
        standing.uses <= one["uses"]
        and seconds <= one["expires_within"]
        and bounded <= set(one.get("open", ()))
        for one in owed.standing
    )


def covers(standing: Row, envelope: Mapping[str, Any]) -> bool:
    """Whether these are its arguments: each as it was, or one of its values."""
    known = {
        one["path"].removeprefix("/"): one.get("values", [one.get("value")])
        for one in standing.constraints
    }
    arguments = envelope["arguments"]
    return known.keys() == arguments.keys() and all(
        arguments[name] in values for name, values in known.items()
    )


def _serves_itself(sight: Sight, request: Row, policy: Row) -> bool:
    """Nobody lets their own agent's actions through, unless another cosigned it."""
    (key,) = find(sight.keys, id=request.key_id)
    owners = find(sight.owners, agent_id=request.agent_id, until=None)
    side = {one.member_id for one in owners} | {key.created_by_id}
    own = policy.cosigned_by_id is None and policy.author_id in side - {None}
    return bool(own and policy.definition["verdict"] == "allow")


def risk_of(sight: Sight, request: Row) -> str:
    """The tool's risk as it is now, or what the agent raised it to."""
    (tool,) = find(sight.tools, id=request.tool_id)
    return max(tool.risk, request.risk, key=RISKS.index)


def _matches(definition: Mapping[str, Any], action: Action) -> bool:
    try:
        return SELECTORS[definition.get("selector", "true")](action)
    except KeyError:
        return bool(definition["verdict"] != "allow")


def _slots(rules: Sequence[Mapping[str, Any]]) -> tuple[frozenset[UUID] | None, ...]:
    """Equal rules are one, with the larger number."""
    most: dict[frozenset[UUID] | None, int] = {}
    for rule in rules:
        members = rule.get("eligible", {}).get("members") or None
        whom = frozenset(map(UUID, members)) if members else None
        most[whom] = max(most.get(whom, 0), rule.get("approvals", 1))
    return tuple(whom for whom, number in most.items() for _ in range(number))


def may_count(sight: Sight, request: Row, revision: Row, owed: Owed) -> frozenset[UUID]:
    """Members whose approval counts now: active, with the right, not of the asking side."""
    deciders = {
        one.member
        for one in find(sight.holders, queue=request.queue_id, right="decide")
    }
    active = {one.id for one in sight.members if one.active and one.user_active}
    return frozenset(deciders & active) - asking_side(sight, request, revision, owed)


def asking_side(
    sight: Sight, request: Row, revision: Row, owed: Owed
) -> frozenset[UUID]:
    """Owners of the agent since it asked, whoever made its key, editor, authors."""
    owners = {
        one.member_id
        for one in find(sight.owners, agent_id=request.agent_id)
        if one.until is None or one.until >= request.created_at
    }
    (key,) = find(sight.keys, id=request.key_id)
    editor = (
        {revision.author_id}
        if revision.author_type == "member" and not owed.editor_counts
        else set()
    )
    authors = {
        one.author_id
        for one in sight.policies
        if (one.policy_id, one.number) in owed.policies and one.cosigned_by_id is None
    }
    return frozenset((owners | {key.created_by_id} | editor | authors) - {None})


def enough(owed: Owed, people: Iterable[UUID]) -> bool:
    """Whether distinct people fill every slot: by trying every way to seat them."""
    chosen = set(people)
    return any(
        all(
            slot is None or one in slot
            for one, slot in zip(order, owed.slots, strict=True)
        )
        for order in permutations(chosen, len(owed.slots))
    )


def approvals(sight: Sight, revision: Row, verdict: str = "approve") -> list[Row]:
    """The decisions on this wording that count."""
    return find(
        sight.decisions, revision_id=revision.id, verdict=verdict, dismissed_at=None
    )


def holds(owed: Owed, sight: Sight, request: Row, revision: Row) -> bool:
    """Whether the decisions there are satisfy what is owed, by who may count now."""
    able = may_count(sight, request, revision, owed)
    counted = {
        one.member_id
        for one in approvals(sight, revision)
        if one.on_behalf_of_id is None or one.on_behalf_of_id in able
    }
    return enough(owed, (counted - {None}) & able)


def opens(request: Row, owed: Owed) -> timedelta:
    return request.decided_at + timedelta(seconds=owed.wait)
