"""What policies owe, in words: for lists, for comparisons and for the simulator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from approvals.policy import Obligation, Rule
from approvals.policy.obligation import Verdict
from approvals.presentation.lengths import length_words

VERDICTS: Final = {
    Verdict.DENY: "Refused at once",
    Verdict.REQUIRE_REVIEW: "People must agree",
    Verdict.ALLOW: "Let through without a person",
}
REASONS: Final = {
    "none": "never asked for",
    "on_reject": "to reject",
    "always": "for every answer",
}
LABELS: Final = {
    "verdict": "Outcome",
    "rules": "Who must agree",
    "queue": "Where it is asked",
    "decide_within": "Time to decide",
    "use_within": "Time to use an approval",
    "wait": "Wait before use",
    "reason": "A reason is needed",
    "reauthentication": "Signed in within",
    "editor_counts": "Whoever edits",
    "break_glass": "In an emergency",
    "standing": "Agreed beforehand",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What ids and slugs are called."""

    groups: Mapping[UUID, str] = field(default_factory=dict)
    people: Mapping[UUID, str] = field(default_factory=dict)
    queues: Mapping[str, str] = field(default_factory=dict)
    default_queue: str = "the default queue"

    def queue(self, slug: str | None) -> str:
        if not slug:
            return self.default_queue
        return self.queues.get(slug, f"{slug} (there is none: {self.default_queue})")


def rule_words(rule: Rule, names: Names, queue: str) -> str:
    """'2 people of Finance', 'Ann', '1 of Ann or Bob', '1 person who decides on X'."""
    who = _who(rule, names, queue)
    if rule.denials > 1:
        return f"{who} ({rule.denials} rejections end it)"
    return who


def _who(rule: Rule, names: Names, queue: str) -> str:
    groups = sorted(names.groups.get(one, "a group") for one in rule.eligible.groups)
    people = sorted(names.people.get(one, "a person") for one in rule.eligible.members)
    count = rule.approvals
    if people:
        within = f", in {listed(groups)}" if groups else ""
        among = "" if len(people) == count == 1 else f"{count} of "
        return f"{among}{listed(people)}{within}"
    noun = "person" if count == 1 else "people"
    if groups:
        return f"{count} {noun} of {listed(groups)}"
    return f"{count} {noun} who decide{'s' if count == 1 else ''} on {queue}"


def listed(names: Sequence[str], word: str = "or") -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def rules_words(rules: Sequence[Rule], names: Names, queue: str) -> str:
    return listed([rule_words(one, names, queue) for one in rules], "and")


def definition_words(definition: Mapping[str, Any], names: Names) -> dict[str, str]:
    """Each member that it states, by its name; who agrees is said for reviews always."""
    said = {
        name: _member_words(name, definition[name])
        for name in LABELS
        if name in definition and name not in {"verdict", "rules", "queue"}
    }
    verdict = Verdict(definition["verdict"])
    rules = [Rule.from_json(one) for one in definition.get("rules", [])]
    if verdict is Verdict.REQUIRE_REVIEW and not rules:
        rules = [Rule()]
    queue = names.queue(definition.get("queue"))
    first = {"verdict": VERDICTS[verdict]}
    if rules:
        first["rules"] = rules_words(rules, names, queue)
    if verdict is Verdict.REQUIRE_REVIEW or "queue" in definition:
        first["queue"] = queue
    return first | said


def obligation_words(owed: Obligation, names: Names) -> dict[str, str]:
    """All that it says, by the same names."""
    queue = names.queue(owed.queue)
    said: dict[str, Any] = owed.as_json()
    words = {
        "verdict": VERDICTS[owed.verdict],
        "rules": rules_words(owed.rules, names, queue),
        "queue": queue,
    }
    rest = {name: _member_words(name, said.get(name)) for name in LABELS}
    return {name: words.get(name, rest[name]) for name in LABELS}


def outcome_words(owed: Obligation, names: Names) -> str:
    """In one line: what happens, or who must agree."""
    if owed.verdict is not Verdict.REQUIRE_REVIEW:
        return VERDICTS[owed.verdict]
    return rules_words(owed.rules, names, names.queue(owed.queue))


def _member_words(name: str, value: Any) -> str:
    if name == "reason":
        return REASONS.get(value, str(value))
    if name == "editor_counts":
        return "counts for the edit" if value else "does not count for the edit"
    if name == "break_glass":
        return "one person may break the glass" if value else "the same rules hold"
    if name == "standing":
        return _beforehand_words(value)
    if value is None:
        return "not asked"
    return length_words(value) if isinstance(value, int) else str(value)


def _beforehand_words(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return "not permitted"
    uses, within = value["uses"], length_words(value["expires_within"])
    most = f"at most {uses:,} use{'' if uses == 1 else 's'} within {within}"
    paths = listed(sorted(value.get("open", ())), "and")
    return f"{most}; {paths} may be bounded" if paths else f"{most}, nothing left open"
