"""Is the yes that was given beforehand still one, and is there a use of it left?"""

from collections.abc import Mapping
from typing import Final

from approvals.beforehand import Doubt, Question, doubt, not_permitted, standing_of
from approvals.checks.matter import Matter
from approvals.policy import Obligation
from kernel.outcome import RefusalClass, Refused

CLASSES: Final[Mapping[str, RefusalClass]] = {
    "erased": "reopen",
    "expired": "reopen",
    "not_in_audit": "stop",
    "not_permitted": "reopen",
    "outside": "reopen",
    "revoked": "reopen",
    "tool_changed": "reopen",
    "used_up": "reopen",
}


def check_beforehand(matter: Matter) -> Refused | None:
    """By the standing approval's own terms, on its locked row.

    Who made it is asked like anyone who agreed: see authority.py.
    """
    if standing_of(matter.decisions) is None:
        return None
    if matter.standing is None:
        return _refuse(Doubt("not_in_audit", "There is no such standing approval."))
    found = doubt(
        matter.standing,
        Question(
            request=matter.request,
            envelope=matter.envelope,
            tool=matter.tool,
            now=matter.now,
        ),
    )
    return _refuse(found) if found else None


def check_permitted(matter: Matter, *owed: Obligation) -> Refused | None:
    """Policy, as it was when this was asked and as it is now, permits it beforehand."""
    if matter.standing is None:
        return None
    found = not_permitted(matter.standing, owed)
    return _refuse(found) if found else None


def _refuse(found: Doubt) -> Refused:
    """People are asked instead; unless somebody altered what is stored."""
    code = f"authority.standing_{found.code}"
    return Refused(code, found.reason, CLASSES[found.code])
