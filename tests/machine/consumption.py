"""The moment of the action: every question that the checks ask, asked once more."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from tests.machine import oracle
from tests.machine.judgement import SETTLED, Case
from tests.machine.sight import Row, Sight, find

UNDECIDED: Final = {"pending", "changes_requested"}
LIVE: Final = {"paused", "resuming", "needs_attention"}


def consumed_rightly(case: Case) -> Iterator[str]:
    """Of each effect that this step began: identity, position, effects, authority."""
    requests, grants = case.after.by_id("requests"), case.after.by_id("grants")
    for effect in case.new("effects"):
        request, grant = requests[effect.request], grants[effect.grant]
        revision = case.after.revision(request.id, request.revision)
        envelope = oracle.envelope_of(revision)
        for doubt in (
            *_identity(case.after, request, envelope, grant.ended_at),
            *_position(case, request, envelope),
            *_effects(case, effect),
            *_tool(case.after, request, envelope),
            *_time(request, grant, oracle.current(case.after, request, envelope)),
            *_authority(case.after, request, revision, envelope),
            *_beforehand(case, request, revision, envelope, grant.ended_at),
            *_preconditions(case.after, request, envelope, grant.ended_at),
        ):
            yield f"effect {effect.id} began although {doubt}"


def _identity(
    sight: Sight, request: Row, envelope: dict[str, Any], at: datetime
) -> Iterator[str]:
    (tenant,), (agent,) = sight.tenants, find(sight.agents, id=request.agent_id)
    (key,), (run,) = (
        find(sight.keys, id=request.key_id),
        find(sight.runs, id=request.run_id),
    )
    if tenant.state != "active":
        yield "the tenant is stopped"
    if tenant.recovering_since is not None:
        yield "the tenant is in recovery"
    if not agent.enabled:
        yield "the agent is disabled"
    if key.revoked_at is not None or (key.expires_at and key.expires_at <= at):
        yield "the key is dead"
    named = (envelope["tenant"], envelope["run"], envelope["request"])
    if named != (str(tenant.id), str(run.id), str(request.id)):
        yield "the envelope names others"


def _position(case: Case, request: Row, envelope: dict[str, Any]) -> Iterator[str]:
    (run,) = find(case.before.runs, id=request.run_id)
    (pause,) = find(case.before.pauses, id=request.pause_id)
    if run.state not in LIVE or pause.closed_at is not None:
        yield f"the run was {run.state}, the pause closed at {pause.closed_at}"
    siblings = find(case.before.requests, pause_id=pause.id)
    undecided = [one for one in siblings if one.state in UNDECIDED]
    if pause.resume_when == "all" and undecided:
        yield "another question of its pause is open"
    if run.head_number < envelope["checkpoint"]["number"]:
        yield "the run is before its checkpoint"


def _effects(case: Case, effect: Row) -> Iterator[str]:
    for other in find(case.after.effects, run_id=effect.run_id):
        if other.id != effect.id and other.state not in SETTLED:
            yield f"an earlier effect was {other.state}"


def _tool(sight: Sight, request: Row, envelope: dict[str, Any]) -> Iterator[str]:
    (tool,) = find(sight.tools, id=request.tool_id)
    sealed = envelope["tool"]
    if not tool.enabled:
        yield "its tool is switched off"
    if (tool.name, tool.mode, bytes(tool.digest).hex()) != (
        sealed["name"],
        sealed["mode"],
        sealed["digest"],
    ):
        yield "its tool was changed"


def _time(request: Row, grant: Row, now_owed: oracle.Owed) -> Iterator[str]:
    at = grant.ended_at
    if not grant.not_before <= at < grant.expires_at:
        yield "it was not the time for it"
    opens = oracle.opens(request, now_owed)
    if not opens <= at < opens + timedelta(seconds=now_owed.use_within):
        yield "policy now gives another time"


def _authority(
    sight: Sight, request: Row, revision: Row, envelope: dict[str, Any]
) -> Iterator[str]:
    then, now = oracle.pinned(envelope), oracle.current(sight, request, envelope)
    if "deny" in {then.verdict, now.verdict}:
        yield "policy denies it"
    for name, owed in (("asked for then", then), ("asked for now", now)):
        if not oracle.holds(owed, sight, request, revision):
            yield f"what is {name} is not satisfied"
    if then.verdict == "require_review" and not oracle.approvals(sight, revision):
        yield "nobody approved it"
    people = [one for one in oracle.approvals(sight, revision) if one.member_id]
    if now.reason and not all(one.reason for one in people):
        yield "a reason is missing"
    if now.fresh is not None and not all(_fresh(one, now.fresh) for one in people):
        yield "a sign-in was not fresh"
    for one in oracle.approvals(sight, revision):
        if bytes(one.digest) != bytes(revision.digest):
            yield "a decision is of other bytes"


def _beforehand(
    case: Case, request: Row, revision: Row, envelope: dict[str, Any], at: datetime
) -> Iterator[str]:
    """By a standing approval: it stands, covers this, and had a use left."""
    then = oracle.pinned(envelope)
    now = oracle.current(case.after, request, envelope)
    for one in oracle.approvals(case.after, revision):
        if one.standing_id is None:
            continue
        (standing,) = find(case.after.standing, id=one.standing_id)
        (before,) = find(case.before.standing, id=one.standing_id)
        if standing.revoked_at is not None or standing.expires_at <= at:
            yield "its standing approval has ended"
        if before.used >= before.uses:
            yield "its standing approval was used up"
        if not oracle.covers(standing, envelope):
            yield "its standing approval does not cover it"
        if not all(oracle.permits(owed, standing) for owed in (then, now)):
            yield "policy does not permit to agree beforehand"


def _fresh(decision: Row, seconds: int) -> bool:
    at = decision.authentication.get("at")
    return at is not None and decision.created_at.timestamp() - at <= seconds


def _preconditions(
    sight: Sight, request: Row, envelope: dict[str, Any], at: datetime
) -> Iterator[str]:
    facts = {one.name: one for one in find(sight.facts, run_id=request.run_id)}
    for wanted in envelope["preconditions"]:
        fact = facts.get(wanted["field"])
        if fact is None:
            yield "a fact is missing"
            continue
        if "equals" in wanted and fact.value is not wanted["equals"]:
            yield "a fact is another"
        age = (at - fact.observed_at).total_seconds()
        if "max_age" in wanted and age > wanted["max_age"]:
            yield "a fact is too old"
