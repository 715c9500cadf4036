"""Each counted decision must equal its signed audit entry.

A row can be rewritten by whoever reaches the database; the signature cannot, because
its key is not there.
"""

from typing import Any

from approvals.checks.matter import Matter
from approvals.models import Decision
from audit.evidence import signed_data
from kernel.outcome import Refused

KIND = "decision.recorded"


def check_evidence(matter: Matter) -> Refused | None:
    """Compare every counted decision with what was signed when it was made."""
    signed = signed_data(
        matter.tenant.id, kind=KIND, subjects=[one.id for one in matter.decisions]
    )
    for decision in matter.decisions:
        if not _agrees(decision, matter, signed.get(decision.id)):
            return Refused(
                "authority.decision_not_in_audit",
                "A decision is not the one that the audit log has.",
                "stop",
            )
    return None


def _agrees(decision: Decision, matter: Matter, data: dict[str, Any] | None) -> bool:
    if data is None:
        return False
    expected = {
        "request": str(decision.request_id),
        "revision": matter.revision.number,
        "digest": bytes(decision.digest).hex(),
        "member": str(decision.member_id) if decision.member_id else None,
        "verdict": decision.verdict,
    }
    return all(data.get(name) == value for name, value in expected.items())
