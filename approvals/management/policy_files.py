"""Policies as a file: what it may say, and whether its cases come out as expected.

A file names groups and people as they are called; ids are the tenant's own. Judging
cases needs no tenant: there a name stands for itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from approvals.management.yaml_text import read_yaml, write_yaml
from approvals.policy import ActionSubject, Obligation, Rule, evaluate
from approvals.policy.evaluate import Statement
from approvals.policy.obligation import merge_rules
from approvals.services.policies import POLICY_INVALID, check_policy
from kernel.json_schema import check_value
from kernel.problems import Problem

type Definition = dict[str, Any]
type NamedOf = Callable[[str, str], str]
"""From ("groups" | "members", a name) to what stands for it."""

OWED: Final = (
    "verdict",
    "queue",
    "decide_within",
    "use_within",
    "wait",
    "reason",
    "reauthentication",
    "editor_counts",
    "break_glass",
    "standing",
)
_TEXT: Final = {"type": "string"}
_REQUEST: Final = {
    "type": "object",
    "additionalProperties": False,
    "required": ["tool"],
    "properties": {
        "tool": _TEXT,
        "arguments": {"type": "object"},
        "target": {},
        "risk": {"enum": ["low", "medium", "high", "critical"]},
        "environment": _TEXT,
        "agent": _TEXT,
        "subject": _TEXT,
        "facts": {"type": "object"},
    },
}
_EXPECT: Final = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {
        **{name: {} for name in OWED},
        "verdict": {"enum": ["deny", "require_review", "allow"]},
        "approvals": {"type": "integer"},
        "policies": {"type": "array", "items": _TEXT},
        "rules": {"type": "array", "items": {"type": "object"}},
    },
}
_CASE: Final = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "request", "expect"],
    "properties": {"name": _TEXT, "request": _REQUEST, "expect": _EXPECT},
}
FILE: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["policies"],
    "properties": {
        "policies": {"type": "object", "additionalProperties": {"type": "object"}},
        "cases": {"type": "array", "items": _CASE},
    },
}


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong, and where: a JSON Pointer into the file."""

    pointer: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one case: a sentence for each thing that differs."""

    name: str
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """Definitions by name, and cases, as the file has them."""

    policies: Mapping[str, Definition]
    cases: Sequence[Mapping[str, Any]]


def read_policies(text: str) -> PolicyFile:
    """Raises `yaml_invalid` or `policy.invalid` (422) for what is no such file."""
    said: Any = read_yaml(text)
    check_value(FILE, said, kind=POLICY_INVALID)
    return PolicyFile(said["policies"], said.get("cases", []))


def write_policies(policies: Mapping[str, Definition]) -> str:
    """A file of these definitions, by name."""
    return write_yaml({"policies": dict(sorted(policies.items()))})


def flaws_of(file: PolicyFile) -> Iterator[Flaw]:
    """What no tenant could use."""
    for name, definition in file.policies.items():
        try:
            check_policy(name, renamed(definition, stand_in))
        except Problem as problem:
            at = "" if problem.pointer == "/name" else problem.pointer or ""
            yield Flaw(f"/policies/{name}{at}", problem.detail)
    for place, case in enumerate(file.cases):
        unknown = set(case["expect"].get("policies", [])) - set(file.policies)
        for name in sorted(unknown):
            yield Flaw(f"/cases/{place}/expect/policies", f"There is no policy {name}.")


def renamed(definition: Definition, named: NamedOf) -> Definition:
    """The same with other words for groups and members; anything else untouched."""
    rules = definition.get("rules")
    if not isinstance(rules, list):
        return definition
    return {**definition, "rules": [_renamed_rule(one, named) for one in rules]}


def stand_in(kind: str, name: str) -> str:
    """An id that no tenant has, and that is the same for the same name."""
    return str(uuid5(NAMESPACE_URL, f"keyturn:{kind}:{name}"))


def judged(file: PolicyFile) -> Iterator[Verdict]:
    """Each case, judged by the file's policies alone. They must have no flaw."""
    names, statements = {}, []
    for number, (name, definition) in enumerate(file.policies.items()):
        names[UUID(int=number)] = name
        said = renamed(definition, stand_in)
        statements.append(Statement(UUID(int=number), 1, "", said))
    for case in file.cases:
        owed = evaluate(statements, _action(case["request"]))
        yield Verdict(case["name"], tuple(_differs(case["expect"], owed, names)))


def _renamed_rule(rule: Any, named: NamedOf) -> Any:
    eligible = rule.get("eligible") if isinstance(rule, dict) else None
    if not isinstance(eligible, dict):
        return rule
    kinds = [kind for kind in ("groups", "members") if _are_texts(eligible.get(kind))]
    changed = {kind: [named(kind, one) for one in eligible[kind]] for kind in kinds}
    return {**rule, "eligible": {**eligible, **changed}}


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _action(request: Mapping[str, Any]) -> ActionSubject:
    return ActionSubject(
        tool=request["tool"],
        arguments=request.get("arguments", {}),
        target=request.get("target"),
        risk=request.get("risk", "low"),
        environment=request.get("environment", "production"),
        agent=request.get("agent", "agent"),
        subject=request.get("subject", ""),
        facts=request.get("facts", {}),
    )


def _differs(
    expected: Mapping[str, Any], owed: Obligation, names: Mapping[UUID, str]
) -> Iterator[str]:
    said = owed.as_json()
    found = {name: said.get(name) for name in OWED}
    found["approvals"] = owed.approvals_needed
    found["policies"] = sorted(names[policy] for policy, _, _ in owed.policies)
    wanted = dict(expected)
    if "policies" in wanted:
        wanted["policies"] = sorted(wanted["policies"])
    if "rules" in wanted and _rules(wanted.pop("rules")) != set(owed.rules):
        yield f"rules: {len(owed.rules)} others are owed"
    for name, value in wanted.items():
        if found[name] != value or isinstance(value, bool) != isinstance(
            found[name], bool
        ):
            yield f"{name}: expected {value}, found {found[name]}"


def _rules(said: Sequence[Mapping[str, Any]]) -> set[Rule]:
    rules = renamed({"rules": list(said)}, stand_in)["rules"]
    return set(merge_rules(Rule.from_json(one) for one in rules))
