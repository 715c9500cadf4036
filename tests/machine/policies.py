"""The policies that the machine publishes, each with its selector said once more.

The second saying is Python, so that the oracle need not ask the evaluator.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

RULES: Final = {
    "one": [{}],
    "two": [{"approvals": 2}],
    "three": [{"approvals": 3}],
}
NAMES: Final = ("first", "second", "third")


@dataclass(frozen=True, slots=True)
class Action:
    """What selectors look at."""

    tool: str
    arguments: Mapping[str, Any]
    risk: str
    facts: Mapping[str, Any]


def _ready(action: Action) -> bool:
    return bool(action.facts["ready"] is True)  # KeyError: the selector cannot tell


SELECTORS: Final[Mapping[str, Callable[[Action], bool]]] = {
    "true": lambda _: True,
    "arguments.amount == '1.00'": lambda a: a.arguments["amount"] == "1.00",
    "arguments.amount == '2.00'": lambda a: a.arguments["amount"] == "2.00",
    "risk == 'critical'": lambda a: a.risk == "critical",
    "tool == 'pay'": lambda a: a.tool == "pay",
    "facts.ready == true": _ready,
}

DEFINITIONS: Final[tuple[Mapping[str, Any], ...]] = (
    {"verdict": "require_review", "rules": RULES["one"], "editor_counts": True},
    {"verdict": "require_review", "rules": RULES["two"]},
    {
        "verdict": "require_review",
        "rules": RULES["two"],
        "selector": "risk == 'critical'",
    },
    {
        "verdict": "require_review",
        "rules": RULES["three"],
        "selector": "facts.ready == true",
    },
    {"verdict": "allow", "selector": "arguments.amount == '1.00'"},
    {"verdict": "allow", "selector": "facts.ready == true"},
    {"verdict": "deny", "selector": "arguments.amount == '2.00'"},
    {"verdict": "require_review", "wait": 90, "use_within": 600},
    {"verdict": "require_review", "reason": "always", "selector": "tool == 'pay'"},
    {"verdict": "require_review", "reauthentication": 300, "decide_within": 120},
    {"verdict": "require_review", "use_within": 30, "editor_counts": False},
    {"verdict": "require_review", "standing": {"uses": 2, "expires_within": 86_400}},
    {
        "verdict": "require_review",
        "standing": {"uses": 3, "expires_within": 3_600, "open": ["/amount"]},
    },
)
