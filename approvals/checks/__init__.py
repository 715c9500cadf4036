"""The four checks: identity, position, effects, authority. Read-only, all live.

Each answers `Passed` or `Refused`; none raises for what it finds, because a refusal
is an outcome that is stored and shown.
"""

from approvals.checks.authority import check_authority
from approvals.checks.effects import check_effects
from approvals.checks.evidence import check_wording
from approvals.checks.identity import check_identity
from approvals.checks.matter import Matter
from approvals.checks.position import check_position
from approvals.checks.recovery import check_recovery
from approvals.checks.verdict import Verification, verify, verify_to_wake

__all__ = [
    "Matter",
    "Verification",
    "check_authority",
    "check_effects",
    "check_identity",
    "check_position",
    "check_recovery",
    "check_wording",
    "verify",
    "verify_to_wake",
]
