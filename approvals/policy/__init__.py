"""The rule model: what policies select, and what they then owe.

All matching policies together give one obligation. Rule sets are never compared;
where two obligations apply (pinned and current), both are required.
"""

from approvals.policy.evaluate import ActionSubject, evaluate
from approvals.policy.obligation import Eligible, Obligation, Rule
from approvals.policy.satisfy import satisfied

__all__ = [
    "ActionSubject",
    "Eligible",
    "Obligation",
    "Rule",
    "evaluate",
    "satisfied",
]
