"""Standing approvals: made from one's own approval, listed, and revoked at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from approvals.access import owners_since, visible_queues
from approvals.beforehand import (
    MADE,
    MOST_LIVE,
    REVOKED,
    live,
    may_be_given,
    not_permitted,
    terms_digest,
)
from approvals.checks import check_wording
from approvals.judging import judge_action
from approvals.models import Decision, Request, StandingApproval
from approvals.policy import Obligation
from approvals.policy.beforehand import Bounds, Constraint, flaw_of, leaves
from approvals.problems import (
    NOT_APPROVED,
    NOT_FOUND,
    OWN_REQUEST,
    REASON_NEEDED,
    STANDING_REFUSED,
    STANDING_TOO_WIDE,
)
from approvals.separation import Key, is_solo, standing
from approvals.services.case import Case, Sight, open_case
from audit.append import Actor
from checkpoints.models import Tool
from kernel.clock import ClockTimestamp
from kernel.ids import new_id
from kernel.secrets import refuse_secret
from kernel.update import update_exactly_one
from sessions.models import Run, Session
from sessions.redaction import redacted_text
from tenants.checks import permitted
from tenants.idempotency import Once
from tenants.models import ApiKey, Member
from tenants.principal import Person
from tenants.queries import active_member
from tenants.verbs import Gate, Verb, perform

V: Final = Decision.Verdict
GIVEN: Final = (Request.State.APPROVED, Request.State.CONSUMED)
STEP: Final = 50  # that are voided in one transaction, while the gate is closed


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a person asks for. An argument that is not bounded is fixed as it was."""

    seconds: int
    uses: int
    bounded: Sequence[Constraint] = ()
    reason: str = ""


def make_standing(
    person: Person,
    *,
    request_id: UUID,
    terms: Terms,
    digest: bytes | None = None,
    once: Once | None = None,
) -> StandingApproval:
    """Let actions like the one that this person approved pass, within these terms.

    `digest` is of the revision that was on the screen. Raises `not_found`,
    `not_permitted`, `not_approved` (409) unless their own approval counts,
    `own_request`, `standing_refused` (409) where policy or tool do not permit it, where
    so many hold already, or where what was approved is not what the log has;
    `standing_too_wide` (422) with the place, `reason_needed`, `secret_in_arguments`.
    """

    def work(verb: Verb) -> StandingApproval:
        case = open_case(verb, person, request_id)
        owed = _owed_both(case, digest)
        _check_terms(case, terms, owed)
        made = _create(case, terms)
        refused = not_permitted(made, owed)
        if refused is not None:
            raise STANDING_REFUSED(refused.reason)
        _record(case, made)
        return made

    return perform(person.tenant_id, work, gate=Gate.EXCLUSIVE, once=once)


def bounds_for(case: Sight) -> Bounds:
    """How far this person may agree beforehand, as things are now.

    For a page that offers it: the verb asks all of it again. Raises what it raises.
    """
    return _common(_owed_both(case, None))


def revoke_standing(
    person: Person, *, standing_id: UUID, reason: str
) -> StandingApproval:
    """End it at once, also for what it answered and has not begun. What is so stays so.

    Its author may, and every administrator. Raises `not_found`, `not_permitted`,
    `reason_needed`.
    """
    if not reason.strip():
        raise REASON_NEEDED("Say why; the auditor reads it.", "/reason")

    tenant_id, by = person.tenant_id, person.member_id

    def work(verb: Verb) -> StandingApproval:
        one = StandingApproval.objects.filter(id=standing_id).first()
        member = active_member(tenant_id, by)
        if one is None or member is None or not may_see(one, member):
            raise NOT_FOUND("No such standing approval.")
        if one.author_id == by:
            actor = Actor("member", by)
        else:
            actor = permitted(tenant_id, by, while_stopped=True)
        if one.revoked_at is None:
            _revoke(verb, actor, one, redacted_text(reason.strip(), tenant_id))
        return StandingApproval.objects.get(id=one.id)

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE)


def void_standing(
    verb: Verb, actor: Actor, why: str, **named: UUID
) -> tuple[int, bool]:
    """End a step of those that are live: how many, and whether more are left.

    `named` is what the rows say of whose they are; nothing: all of the tenant's. Inside
    a verb with its gate closed, so that none is made or used meanwhile.
    """
    found = list(live().filter(**named).order_by("id")[: STEP + 1])
    for one in found[:STEP]:
        _revoke(verb, actor, one, why)
    return len(found[:STEP]), len(found) > STEP


def may_see(one: StandingApproval, member: Member) -> bool:
    """Whoever made it, and whoever sees the queue that it keeps requests from."""
    queue = Request.objects.values_list("queue_id", flat=True).get(id=one.request_id)
    return one.author_id == member.id or queue in visible_queues(member)


def _owed_both(case: Sight, digest: bytes | None) -> list[Obligation]:
    """Then and now, once it is certain that this person's key satisfies each."""
    _check_approved(case, digest)
    _check_room(case.request)
    _check_side(case)
    owed = [case.envelope.obligation, _owed_now(case)]
    for one in owed:
        _check_alone(case, one)
    return owed


def _check_approved(case: Sight, digest: bytes | None) -> None:
    """Their own approval, given at the time, is what it is made from."""
    own = Decision.objects.filter(
        revision_id=case.revision.id,
        member_id=case.member.id,
        verdict=V.APPROVE,
        dismissed_at=None,
        standing=None,
        broke_glass=False,
    )
    if case.request.state not in GIVEN or not own.exists():
        raise NOT_APPROVED("Approve one such request first.")
    if check_wording(case.revision) is not None:
        raise STANDING_REFUSED("What you approved was altered since.")
    if digest is not None and digest != bytes(case.revision.digest):
        raise NOT_APPROVED("What you approved is another wording.")
    if not may_be_given(_tool(case), case.request.risk):
        raise STANDING_REFUSED("Its tool is not reviewed, or cannot be undone.")
    if bytes(_tool(case).digest).hex() != case.envelope.record["tool"]["digest"]:
        raise STANDING_REFUSED("The tool was changed since you approved it.")
    if Session.objects.filter(
        id=case.request.session_id, erased_at__isnull=False
    ).exists():
        raise STANDING_REFUSED("What you approved has been erased.")


def _check_room(request: Request) -> None:
    """Where it is made the gate is closed: nobody makes another meanwhile."""
    held = live().filter(agent_id=request.agent_id, tool_id=request.tool_id).count()
    if held >= MOST_LIVE:
        raise STANDING_REFUSED(
            f"{held} hold for this agent and tool, and more are not looked at: revoke one."
        )


def _check_side(case: Sight) -> None:
    """Nobody agrees beforehand for their own agent: whichever key it may ask with."""
    if is_solo(case.request.tenant_id):
        return
    keys = ApiKey.objects.filter(agent_id=case.request.agent_id, revoked_at=None)
    side = owners_since(case.request.agent_id, case.request.created_at)
    side |= set(keys.values_list("created_by_id", flat=True))
    if case.member.id in side:
        raise OWN_REQUEST("You are on the side that asks.")


def _check_alone(case: Sight, owed: Obligation) -> None:
    """This person's key alone is all that is asked for, and counts now."""
    if owed.beforehand is None:
        raise STANDING_REFUSED("Policy does not permit it.")
    stands = standing(case.request, case.revision, case.envelope, owed)
    if case.member.id in stands.excluded:
        raise OWN_REQUEST("You are on the side that asks.")
    if not stands.satisfied_by([Key(case.member.id)]):
        raise STANDING_REFUSED("The policy asks for somebody else's key.")


def _owed_now(case: Sight) -> Obligation:
    action, request = case.envelope.action, case.request
    key = ApiKey.objects.select_related("agent").get(id=request.key_id)
    return judge_action(
        tool=action.tool,
        arguments=action.arguments,
        target=action.target,
        risk=request.risk,
        key=key,
        agent=key.agent,
        session=Session.objects.get(id=request.session_id),
        run=Run.objects.get(id=request.run_id),
    )


def _common(owed: Sequence[Obligation]) -> Bounds:
    """What all of them permit."""
    known = [one.beforehand for one in owed if one.beforehand is not None]
    return Bounds(
        expires_within=min(one.expires_within for one in known),
        uses=min(one.uses for one in known),
        open=tuple(sorted(set.intersection(*(set(one.open) for one in known)))),
    )


def _check_terms(case: Case, terms: Terms, owed: Sequence[Obligation]) -> None:
    bounds = _common(owed)
    if not 0 < terms.seconds <= bounds.expires_within:
        raise STANDING_TOO_WIDE("Policy gives less time.", "/expires")
    if not 0 < terms.uses <= bounds.uses:
        raise STANDING_TOO_WIDE(f"At most {bounds.uses} uses.", "/uses")
    approved = leaves(case.envelope.action.arguments)
    for one in terms.bounded:
        if one.path not in bounds.open or one.path not in approved:
            raise STANDING_TOO_WIDE("Policy leaves it fixed.", f"/arguments{one.path}")
        flaw = flaw_of(one, approved[one.path])
        if flaw:
            raise STANDING_TOO_WIDE(flaw, f"/arguments{one.path}")
    if not terms.reason.strip() and any(one.reason == "always" for one in owed):
        raise REASON_NEEDED("Say why; the agent and the auditor read it.", "/reason")
    refuse_secret([one.as_json() for one in terms.bounded], "/arguments")


def _create(case: Case, terms: Terms) -> StandingApproval:
    tool, action = _tool(case), case.envelope.action
    row = StandingApproval(
        id=new_id(),
        tenant_id=case.request.tenant_id,
        created_at=case.now,
        tool=tool,
        tool_digest=bytes(tool.digest),
        agent_id=case.request.agent_id,
        environment=case.envelope.record["requester"]["environment"],
        risk=case.request.risk,
        constraints=_constraints(action.arguments, terms.bounded),
        target=action.target,
        preconditions=list(action.preconditions),
        author=case.member,
        request=case.request,
        revision=case.revision.number,
        reason=redacted_text(terms.reason.strip(), case.request.tenant_id),
        expires_at=case.now + timedelta(seconds=terms.seconds),
        uses=terms.uses,
    )
    row.digest = terms_digest(row)
    row.save(force_insert=True)
    return row


def _constraints(
    arguments: Mapping[str, Any], bounded: Sequence[Constraint]
) -> list[dict[str, Any]]:
    """One for each argument: as it was bounded, or exactly as it was approved."""
    named = {one.path: one for one in bounded}
    return [
        named.get(path, Constraint(path, "exactly", {"value": value})).as_json()
        for path, value in sorted(leaves(dict(arguments)).items())
    ]


def _record(case: Case, made: StandingApproval) -> None:
    case.verb.record(
        MADE,
        actor=case.person.actor,
        subject=("standing", made.id),
        data={
            "digest": bytes(made.digest).hex(),
            "request": str(made.request_id),
            "revision": made.revision,
            "tool": made.tool.name,
            "agent": str(made.agent_id),
            "environment": made.environment,
            "expires_at": made.expires_at.isoformat(),
            "uses": made.uses,
        },
    )
    case.verb.changed(case.request.id, case.request.run_id)


def _revoke(verb: Verb, actor: Actor, one: StandingApproval, why: str) -> None:
    by = actor.id if actor.type == "member" else None
    rows = StandingApproval.objects.filter(id=one.id, revoked_at=None)
    update_exactly_one(
        rows, revoked_at=ClockTimestamp(), revoked_by_id=by, revoked_reason=why
    )
    about = {"request": str(one.request_id)}
    verb.record(REVOKED, actor=actor, subject=("standing", one.id), data=about)
    verb.changed(one.request_id)


def _tool(case: Sight) -> Tool:
    return Tool.objects.get(id=case.request.tool_id)
