"""Does this run have permission to perform this exact action, now?

Pinned obligation (what was asked) and current obligation (what policy says today)
are both required; so tightening a policy counts at once, and loosening it never
lets more pass than people agreed to.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

from approvals.checks.beforehand import check_beforehand, check_permitted
from approvals.checks.evidence import check_evidence, signed_ages
from approvals.checks.glass import check_glass
from approvals.checks.matter import Matter
from approvals.checks.preconditions import check_facts, check_preconditions
from approvals.glass import broken_by
from approvals.judging import judge_action
from approvals.models import Decision, Grant
from approvals.policy import Obligation
from approvals.policy.obligation import Verdict
from approvals.separation import keys_for, people_for, standing
from checkpoints.tools import fits
from kernel.outcome import Outcome, Passed, RefusalClass, Refused
from tenants.models import Member

V = Decision.Verdict


def check_authority(matter: Matter) -> Outcome:
    """Each question in turn; the first that is not answered well refuses."""
    for question in QUESTIONS:
        refused = question(matter)
        if refused is not None:
            return refused
    approvers = people_for(matter.decisions, V.APPROVE)
    return Passed({"approvers": list(map(str, approvers))})


def _grant_is_live(matter: Matter) -> Refused | None:
    grant = matter.grant
    if grant is None:
        return _refuse("no_grant", "There is no live approval for this.", "stop")
    if grant.state != Grant.State.LIVE:
        return _refuse(
            f"grant_{grant.state}", f"The approval is {grant.state}.", "stop"
        )
    if grant.revision_id != matter.revision.id:
        return _refuse("grant_of_other_revision", "It is for other wording.", "stop")
    return None


def _digest_holds(matter: Matter) -> Refused | None:
    """Recomputed from the sealed bytes; every place that states it must agree."""
    computed = matter.envelope.digest
    stated = {bytes(matter.revision.digest)}
    stated |= {bytes(one.digest) for one in matter.decisions}
    if matter.grant is not None:
        stated.add(bytes(matter.grant.digest))
    if stated != {computed}:
        return _refuse(
            "digest_mismatch", "The action is not what was approved.", "stop"
        )
    return None


def _in_time(matter: Matter) -> Refused | None:
    assert matter.grant is not None
    if matter.now >= matter.grant.expires_at:
        return _refuse("grant_expired", "The approval was not used in time.", "stop")
    if matter.now < matter.grant.not_before:
        return _refuse("waiting", "The waiting time is not over.", "wait")
    return None


def _tool_unchanged(matter: Matter) -> Refused | None:
    tool, sealed = matter.tool, matter.envelope.record["tool"]
    if not tool.enabled:
        return _refuse("tool_disabled", f"{tool.name} has been switched off.", "stop")
    if tool.name != sealed["name"] or tool.mode != sealed["mode"]:
        return _refuse("tool_changed", "This is not the approved tool.", "reopen")
    if bytes(tool.digest).hex() != sealed["digest"]:
        if not fits(tool, matter.envelope.action.arguments):
            reason = f"The arguments do not fit {tool.name} any more."
            return _refuse("arguments_invalid", reason, "stop")
        return _refuse(
            "tool_changed",
            f"{tool.name} was changed after the approval.",
            "reopen",
        )
    return None


def _pinned_holds(matter: Matter) -> Refused | None:
    """Those who agreed may still agree, under what was asked then.

    Where one person stands for all of them, both obligations are looked at together.
    """
    if broken_by(matter.decisions) is not None:
        return None
    if _is_satisfied(matter, matter.envelope.obligation):
        return check_permitted(matter, matter.envelope.obligation)
    gone = _inactive(matter)
    if gone:
        return _refuse("decider_inactive", f"{gone} can no longer sign in.", "reopen")
    return _refuse(
        "decider_not_eligible",
        "Somebody who agreed may no longer decide this.",
        "reopen",
    )


def _current_holds(matter: Matter) -> Refused | None:
    """What policy asks today is satisfied by the same decisions."""
    current, broken = _current(matter), broken_by(matter.decisions)
    if broken is not None:
        refused = check_glass(matter, broken, current)
        return refused or _current_time(matter, current)
    if current.verdict is Verdict.DENY or not _is_satisfied(matter, current):
        return _refuse(
            "policy_changed", "Policy asks for more than was agreed.", "reopen"
        )
    return (
        _current_time(matter, current)
        or _current_demands(matter, current)
        or check_permitted(matter, current)
    )


def _current(matter: Matter) -> Obligation:
    action = matter.envelope.action
    return judge_action(
        tool=action.tool,
        arguments=action.arguments,
        target=action.target,
        risk=matter.request.risk,
        key=matter.key,
        agent=matter.agent,
        session=matter.session,
        run=matter.run,
    )


def _current_time(matter: Matter, current: Obligation) -> Refused | None:
    assert matter.grant is not None
    decided = matter.request.decided_at or matter.grant.created_at
    opens = decided + timedelta(seconds=current.wait)
    if matter.now < opens:
        return _refuse("waiting", "Policy now asks for a longer wait.", "wait")
    if matter.now >= opens + timedelta(seconds=current.use_within):
        return _refuse("policy_expired", "Policy now gives less time.", "reopen")
    return None


def _current_demands(matter: Matter, current: Obligation) -> Refused | None:
    people = [one for one in matter.decisions if one.verdict == V.APPROVE]
    if current.reason == "always" and any(
        not one.reason for one in people if one.member_id
    ):
        return _refuse("reason_missing", "Policy now asks for reasons.", "reopen")
    if not _all_fresh(matter, people, current.reauthentication):
        return _refuse("not_fresh", "Policy now asks for a fresh sign-in.", "reopen")
    return None


def _all_fresh(
    matter: Matter, decisions: Iterable[Decision], seconds: int | None
) -> bool:
    """By the signed entries: whoever reaches the rows could make a sign-in look newer."""
    if seconds is None:
        return True
    ages = signed_ages(matter)
    asked = [ages.get(one.id) for one in decisions if one.member_id]
    return all(ago is not None and ago <= seconds for ago in asked)


def _is_satisfied(matter: Matter, obligation: Obligation) -> bool:
    if not obligation.rules:
        return True
    now_stands = standing(matter.request, matter.revision, matter.envelope, obligation)
    return now_stands.satisfied_by(keys_for(matter.decisions, V.APPROVE))


def _inactive(matter: Matter) -> str:
    keys = keys_for(matter.decisions, V.APPROVE)
    people = {one for key in keys for one in key.people}
    rows = Member.objects.select_related("user").filter(id__in=people)
    gone = [m.name for m in rows if not (m.active and m.user.is_active)]
    return ", ".join(sorted(gone))


def _refuse(code: str, reason: str, klass: RefusalClass) -> Refused:
    return Refused(f"authority.{code}", reason, klass)


QUESTIONS: Final[tuple[Callable[[Matter], Refused | None], ...]] = (
    _grant_is_live,
    _digest_holds,
    _in_time,
    _tool_unchanged,
    check_evidence,
    check_facts,
    check_beforehand,
    _pinned_holds,
    _current_holds,
    check_preconditions,
)
