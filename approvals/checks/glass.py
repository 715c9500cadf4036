"""May the person who broke the glass still do so? Asked instead of who else agreed."""

from approvals.access import holders
from approvals.checks.evidence import signed_breaking
from approvals.checks.matter import Matter
from approvals.glass import RIGHT, freshness, glass_side, permits
from approvals.models import Decision
from approvals.policy import Obligation
from approvals.policy.obligation import Verdict
from kernel.outcome import RefusalClass, Refused
from tenants.models import Member


def check_glass(
    matter: Matter, broken: Decision, current: Obligation
) -> Refused | None:
    """Under what was asked then and what is asked today; the first refusal counts."""
    pinned = matter.envelope.obligation
    signed = signed_breaking(matter, broken)
    if signed is None:
        return _refuse(
            "decision_not_in_audit",
            "A decision is not as the audit log has it.",
            "stop",
        )
    if current.verdict is Verdict.DENY:
        return _refuse("policy_changed", "Policy refuses it now.", "reopen")
    if not (permits(pinned) and permits(current)):
        return _refuse(
            "glass_not_permitted", "No glass may be broken for it now.", "reopen"
        )
    if signed["authenticated_ago"] > freshness(pinned, current):
        return _refuse("not_fresh", "Policy now asks for a fresh sign-in.", "reopen")
    return _person_holds(matter, broken, current)


def _person_holds(
    matter: Matter, broken: Decision, current: Obligation
) -> Refused | None:
    owed = (matter.envelope.obligation, current)
    side = glass_side(matter.request, matter.revision, matter.envelope, *owed)
    able = holders(
        tenant_id=matter.tenant.id,
        queue_id=matter.request.queue_id,
        permission=RIGHT,
    )
    assert broken.member_id is not None
    if broken.member_id in able - side:
        return None
    who = Member.objects.select_related("user").get(id=broken.member_id)
    if not (who.active and who.user.is_active):
        return _refuse(
            "decider_inactive", f"{who.name} can no longer sign in.", "reopen"
        )
    return _refuse(
        "decider_not_eligible",
        f"{who.name} may no longer break the glass here.",
        "reopen",
    )


def _refuse(code: str, reason: str, klass: RefusalClass) -> Refused:
    return Refused(f"authority.{code}", reason, klass)
