"""What a refused verification leads to. The refusal itself is a committed outcome."""

from dataclasses import replace
from typing import Final

from approvals.checks import Matter, Verification
from approvals.models import Grant, Request, VerificationReport
from approvals.policy import Obligation, Rule
from approvals.policy.obligation import Verdict
from approvals.services.asking import (
    Scene,
    add_revision,
    apply_verdict,
    as_short_as,
    judge,
    riskier,
)
from approvals.services.ending import dismiss_decisions, end_request
from approvals.services.granting import (
    SYSTEM,
    end_grant,
    end_jobs,
    owe_when_ready,
)
from approvals.services.scene import scene_of
from kernel.outcome import Refused
from sessions.models import Run
from sessions.runs import move_run
from tenants.verbs import Verb

# Somebody altered what was stored: the run waits for a person, not for the agent.
ALTERED: Final = frozenset(
    {
        "authority.digest_mismatch",
        "authority.revision_not_in_audit",
        "authority.decision_not_in_audit",
        "authority.grant_not_in_audit",
        "authority.policies_not_in_audit",
        "authority.policy_not_in_audit",
        "authority.solo_not_in_audit",
        "authority.standing_not_in_audit",
        "position.checkpoint_corrupted",
        "position.schema_unsupported",
        "position.head_moved",
    }
)


OF_FACTS: Final = frozenset(
    {
        "authority.precondition_missing",
        "authority.precondition_failed",
        "authority.precondition_stale",
    }
)


def store_report(
    verb: Verb, matter: Matter, verification: Verification, *, door: str
) -> VerificationReport:
    """Keep the four answers, and say so in the audit log."""
    refused = verification.refused
    report = VerificationReport.objects.create(
        tenant_id=matter.request.tenant_id,
        request=matter.request,
        revision=matter.revision,
        grant=matter.grant,
        door=door,
        passed=refused is None,
        refusal=refused.klass if refused else "",
        code=refused.code if refused else "",
        reason=refused.reason if refused else "",
        checks=verification.as_json(),
        fence=matter.run.fence,
    )
    verb.record(
        "verification.refused" if refused else "verification.passed",
        actor=SYSTEM,
        subject=("request", matter.request.id),
        data={
            "report": str(report.id),
            "door": door,
            "code": report.code,
            "class": report.refusal,
        },
    )
    verb.changed(matter.request.id, matter.run.id)
    return report


def follow_refusal(verb: Verb, matter: Matter, refused: Refused) -> None:
    """`wait` changes nothing; `reopen` asks anew; `stop` ends it for good."""
    if refused.klass == "reopen":
        _reopen(verb, matter, refused)
    elif refused.klass == "stop":
        _stop(verb, matter, refused)


def _reopen(verb: Verb, matter: Matter, refused: Refused) -> None:
    """The same action, asked again under today's policy and of today's people."""
    _void(verb, matter, Grant.State.REVOKED, refused)
    scene = scene_of(matter.request, matter.now)
    action = matter.envelope.action
    obligation = _owed_now(scene, matter, refused)
    revision = add_revision(
        verb,
        scene,
        matter.request,
        matter.tool,
        action,
        obligation,
        author=SYSTEM,
        reason=refused.reason,
    )
    Request.objects.filter(id=matter.request.id).update(resolution=refused.reason)
    apply_verdict(verb, matter.request, revision, matter.now)
    owe_when_ready(verb, matter.pause.id, matter.now)


def _owed_now(scene: Scene, matter: Matter, refused: Refused) -> Obligation:
    """What policy owes today; but what it allows by itself a person must see, if it
    was refused for a fact: asked again at once, it would be refused for ever."""
    action = matter.envelope.action
    risk = riskier(matter.tool.risk, matter.request.risk)
    said = judge(scene, matter.tool, action.arguments, action.target, risk)
    owed = as_short_as(matter.envelope.obligation, said)
    if owed.verdict is Verdict.ALLOW and refused.code in OF_FACTS:
        rules = owed.rules or (Rule(),)
        return replace(owed, verdict=Verdict.REQUIRE_REVIEW, rules=rules)
    return owed


def _stop(verb: Verb, matter: Matter, refused: Refused) -> None:
    lapsed = refused.code == "authority.grant_expired"
    _void(verb, matter, Grant.State.LAPSED if lapsed else Grant.State.REVOKED, refused)
    if matter.request.state == Request.State.APPROVED:
        state = Request.State.LAPSED if lapsed else Request.State.REVOKED
        end_request(verb, matter.request, state, matter.now, refused.reason)
    if refused.code in ALTERED and matter.run.state != Run.State.NEEDS_ATTENTION:
        need_attention(verb, matter.run, refused.reason)


def _void(verb: Verb, matter: Matter, to: Grant.State, refused: Refused) -> None:
    """No authority is left; who agreed is dismissed with the reason."""
    if matter.grant is not None and matter.grant.state == Grant.State.LIVE:
        end_grant(verb, matter.grant, to, actor=SYSTEM, reason=refused.reason)
    end_jobs(matter.request, refused.code)
    dismiss_decisions(verb, matter.revision, refused.reason)


def need_attention(verb: Verb, run: Run, reason: str) -> None:
    """Only a person can say what is true now. A paused run resumes into it."""
    if run.state == Run.State.PAUSED:
        move_run(verb, run, Run.State.RESUMING, actor=SYSTEM, reason=reason)
    if run.state == Run.State.RESUMING:
        move_run(verb, run, Run.State.NEEDS_ATTENTION, actor=SYSTEM, reason=reason)
