"""What must be true after every step: DESIGN's invariants, one function for each."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tests.machine import oracle
from tests.machine.moves import illegal
from tests.machine.sight import Row, Sight, find
from tests.machine.world import TOOLS, World

UNDER: Final = {"approval": b"keyturn/approval/v1\0", "action": b"keyturn/action/v1\0"}
SETTLED: Final = {"confirmed", "failed", "absent"}
TURNING: Final = {"approve", "respond"}
OPEN_JOBS: Final = {"queued", "claimed", "retry"}


@dataclass(kw_only=True)
class Case:
    """The world before and after one step."""

    world: World
    before: Sight
    after: Sight
    said: set[str] = field(default_factory=set)

    def new(self, table: str) -> list[Row]:
        known = {row.id for row in self.before.rows[table]}
        return [row for row in self.after.rows[table] if row.id not in known]


def violations(case: Case) -> list[str]:
    """Everything that is not as it must be."""
    return [
        f"{rule.__name__}: {found}" for rule in RULES for found in rule(case) if found
    ]


def jcs(value: Any) -> bytes:
    """The canonical form of what these tests send: plain ASCII, no fractions."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def statuses_move_along_their_tables(case: Case) -> Iterator[str]:
    yield from illegal(case.after.moves)


def runs_keep_one_unbroken_fence(case: Case) -> Iterator[str]:
    before = case.before.by_id("runs")
    for run in case.after.runs:
        if run.id in before and run.fence < before[run.id].fence:
            yield f"the fence of run {run.id} fell"


def revisions_are_what_their_digest_says(case: Case) -> Iterator[str]:
    for one in case.after.revisions:
        sealed = hashlib.sha256(UNDER["approval"] + bytes(one.envelope)).digest()
        if sealed != bytes(one.digest):
            yield f"revision {one.id} has another digest"
        if jcs(oracle.envelope_of(one)) != bytes(one.envelope):
            yield f"revision {one.id} is not canonical"


def effects_have_a_consumed_grant_for_those_bytes(case: Case) -> Iterator[str]:
    """Invariant 1."""
    grants, requests = case.after.by_id("grants"), case.after.by_id("requests")
    revisions = case.after.by_id("revisions")
    for effect in case.after.effects:
        grant = grants.get(effect.grant)
        if grant is None or grant.state != "consumed":
            yield f"effect {effect.id} has no consumed grant"
            continue
        revision, request = revisions[grant.revision_id], requests[effect.request]
        if grant.request_id != request.id or revision.request_id != request.id:
            yield f"effect {effect.id} has another request's grant"
        if bytes(grant.digest) != bytes(revision.digest):
            yield f"grant {grant.id} covers other bytes"
        if request.revision != revision.number or request.state != "consumed":
            yield f"effect {effect.id} is of another wording"
        envelope = oracle.envelope_of(revision)
        parts = {"tool": envelope["tool"]["name"]}
        parts |= {name: envelope[name] for name in ("target", "arguments")}
        if jcs(parts) != bytes(effect.action):
            yield f"effect {effect.id} does something else than was approved"
        if bytes(effect.key) != _effect_key(effect, jcs(parts)):
            yield f"effect {effect.id} has another key"


def _effect_key(effect: Row, action: bytes) -> bytes:
    digest = hashlib.sha256(UNDER["action"] + action).digest()
    names = effect.tenant_id.bytes + effect.request.bytes
    return hashlib.sha256(b"keyturn/effect/v1" + names + digest).digest()


def grants_are_single(case: Case) -> Iterator[str]:
    live = Counter(one.request_id for one in find(case.after.grants, state="live"))
    yield from (f"request {id} has {n} live grants" for id, n in live.items() if n > 1)
    effects = Counter(one.grant for one in case.after.effects)
    yield from (f"grant {id} had {n} effects" for id, n in effects.items() if n > 1)
    for grant in find(case.after.grants, state="consumed"):
        if not effects[grant.id]:
            yield f"grant {grant.id} was consumed for nothing"
    requests = case.after.by_id("requests")
    for grant in find(case.after.grants, state="live"):
        if requests[grant.request_id].state != "approved":
            yield f"a {requests[grant.request_id].state} request has a live grant"
    for request in find(case.after.requests, state="approved"):
        if not live[request.id]:
            yield f"request {request.id} is approved without a grant"


def jobs_are_single(case: Case) -> Iterator[str]:
    open_jobs = [one for one in case.after.jobs if one.state in OPEN_JOBS]
    many = Counter(one.request_id for one in open_jobs)
    yield from (f"request {id} owes {n} jobs" for id, n in many.items() if n > 1)


def tools_act_once_and_only_under_a_grant(case: Case) -> Iterator[str]:
    """Invariant 1, as the outside world saw it."""
    effects = {bytes(one.key).hex(): one for one in case.after.effects}
    for name, system in case.world.systems.items():
        for key, times in system.done.items():
            if times > 1:
                yield f"{name} acted {times} times under {key}"
        for call in system.calls:
            if call.key not in effects:
                yield f"{name} was called under a key that no effect has"
            else:
                yield from _as_recorded(case, effects[call.key], call)


def _as_recorded(case: Case, effect: Row, call: Any) -> Iterator[str]:
    if call.body != jcs(json.loads(bytes(effect.action))["arguments"]):
        yield f"effect {effect.id} was sent with other arguments"
    tried = find(case.after.attempts, effect_id=effect.id, number=call.attempt)
    if [one.fence for one in tried] != [call.fence]:
        yield f"attempt {call.attempt} of effect {effect.id} was sent under another fence"


def outcomes_are_true(case: Case) -> Iterator[str]:
    """Nobody guesses: what is recorded is what the company's system did."""
    tools = {tool.id: tool.name for tool in case.after.tools}
    for effect in case.after.effects:
        system = case.world.systems.get(tools[effect.tool_id])
        if system is None or effect.state not in SETTLED:
            continue
        happened = system.done[bytes(effect.key).hex()] == 1
        if happened is not (effect.state == "confirmed"):
            yield f"effect {effect.id} is {effect.state}, and happened: {happened}"


def attempts_are_numbered(case: Case) -> Iterator[str]:
    for effect in case.after.effects:
        tries = sorted(
            (one.number, one.fence)
            for one in find(case.after.attempts, effect_id=effect.id)
        )
        if [number for number, _ in tries] != list(range(1, effect.attempt + 1)):
            yield f"effect {effect.id} has attempts {tries}"
        if [fence for _, fence in tries] != sorted(fence for _, fence in tries):
            yield f"effect {effect.id} was tried under an older fence"
        most = TOOLS[json.loads(bytes(effect.action))["tool"]][2].get("attempts", 3)
        if effect.attempt > most:
            yield f"effect {effect.id} was tried {effect.attempt} times"


def decisions_are_of_people_who_may(case: Case) -> Iterator[str]:
    """Invariants 2 and 3, at the moment of deciding."""
    requests = case.before.by_id("requests")
    revisions = case.after.by_id("revisions")
    for one in case.new("decisions"):
        revision = revisions[one.revision_id]
        if bytes(one.digest) != bytes(revision.digest):
            yield f"decision {one.id} is of other bytes"
        if one.member_id is None:
            yield from _of_policy(case, one, revision)
            continue
        if one.standing_id is not None:
            yield from _beforehand(case, one, revision)
            continue
        request = requests.get(one.request_id)
        if request is None or request.state != "pending":
            yield f"decision {one.id} is of no pending request"
        elif request.due_at <= case.before.now:
            yield f"decision {one.id} came too late"
        else:
            yield from _of_person(case, one, request, revision)


def _beforehand(case: Case, one: Row, revision: Row) -> Iterator[str]:
    """A person's, given before it was asked: within its bounds, and by who counts."""
    (request,) = find(case.after.requests, id=one.request_id)
    standing = case.before.by_id("standing").get(one.standing_id)
    envelope = oracle.envelope_of(revision)
    owed = oracle.pinned(envelope)
    if standing is None or standing.author_id != one.member_id:
        yield f"decision {one.id} is by no standing approval of theirs"
        return
    if one.verdict != "approve" or revision.number != 1:
        yield f"decision {one.id} was given beforehand to what people had seen"
    if standing.revoked_at is not None or standing.expires_at <= case.before.now:
        yield f"decision {one.id} is by a standing approval that has ended"
    if standing.used >= standing.uses:
        yield f"decision {one.id} is by one that is used up"
    if (standing.agent_id, standing.tool_id) != (request.agent_id, request.tool_id):
        yield f"decision {one.id} is by one of another tool or agent"
    if not oracle.covers(standing, envelope) or not oracle.permits(owed, standing):
        yield f"decision {one.id} is outside of its bounds"
    if one.member_id not in oracle.may_count(case.after, request, revision, owed):
        yield f"{one.member_id} turned a key beforehand that does not count"


def uses_are_counted(case: Case) -> Iterator[str]:
    """Each action that began by a standing approval is one use; never more than it has."""
    consumed = {one.revision_id for one in find(case.after.grants, state="consumed")}
    begun = Counter(
        one.standing_id
        for one in case.after.decisions
        if one.standing_id and one.revision_id in consumed
    )
    for one in case.after.standing:
        if one.used != begun[one.id] or one.used > one.uses:
            yield f"{one.id} has {one.used} of {one.uses} uses; {begun[one.id]} began"


def standing_approvals_are_of_deciders(case: Case) -> Iterator[str]:
    """Made from one's own approval of a tool that can be undone, and as policy permits."""
    for one in case.new("standing"):
        (request,) = find(case.after.requests, id=one.request_id)
        revision = case.after.current(request)
        envelope = oracle.envelope_of(revision)
        own = find(oracle.approvals(case.after, revision), member_id=one.author_id)
        if not any(each.standing_id is None for each in own):
            yield f"{one.id} is made from no approval of its author's"
        if oracle.risk_of(case.after, request) == "critical":
            yield f"{one.id} is for what cannot be undone"
        now_owed = oracle.current(case.after, request, envelope)
        for owed in (oracle.pinned(envelope), now_owed):
            able = oracle.may_count(case.after, request, revision, owed)
            if not oracle.permits(owed, one) or one.author_id not in able:
                yield f"{one.id} is more than its author may agree to beforehand"


def _of_policy(case: Case, one: Row, revision: Row) -> Iterator[str]:
    verdict = oracle.pinned(oracle.envelope_of(revision)).verdict
    expected = {"allow": "approve", "deny": "reject"}.get(verdict)
    if one.verdict != expected:
        yield f"policy that says {verdict} decided {one.verdict}"


def _of_person(case: Case, one: Row, request: Row, revision: Row) -> Iterator[str]:
    owed = oracle.pinned(oracle.envelope_of(revision))
    sight = case.after
    holders = find(sight.holders, queue=request.queue_id, member=one.member_id)
    rights = {held.right for held in holders}
    (member,) = find(sight.members, id=one.member_id)
    if not (member.active and member.user_active and "decide" in rights):
        yield f"{one.member_id} decided without the right"
    if one.verdict == "edit" and "edit_arguments" not in rights:
        yield f"{one.member_id} edited without the right"
    if one.verdict in TURNING and one.member_id not in oracle.may_count(
        sight, request, revision, owed
    ):
        yield f"{one.member_id} turned a key that does not count"
    if one.on_behalf_of_id is not None:
        yield from _of_two(case, one, request, revision, owed)
    if owed.reason and not one.reason:
        yield f"decision {one.id} gives no reason"


def _of_two(
    case: Case, one: Row, request: Row, revision: Row, owed: oracle.Owed
) -> Iterator[str]:
    """Not through delegation: both may, under one in force between just these two."""
    sight, both = case.after, {one.member_id, one.on_behalf_of_id}
    if not both <= oracle.may_count(sight, request, revision, owed):
        yield f"{one.member_id} answered for somebody, and one of the two may not"
    if one.verdict == "edit":
        yield f"{one.member_id} edited for somebody else"
    (under,) = find(sight.delegations, id=one.delegation_id)
    between = (under.delegate_id, under.delegator_id)
    ended = under.ended_at is not None and under.ended_at <= one.created_at
    in_force = under.starts_at <= one.created_at < under.ends_at and not ended
    if between != (one.member_id, one.on_behalf_of_id) or not in_force:
        yield f"{one.member_id} answered for somebody without having been named"


def nobody_counts_twice(case: Case) -> Iterator[str]:
    many = Counter(
        (one.revision_id, person)
        for one in find(case.after.decisions, taken_back_by_id=None)
        for person in (one.member_id, one.on_behalf_of_id)
        if person is not None
    )
    yield from (f"{key} answered {n} times" for key, n in many.items() if n > 1)


def what_was_decided_stays(case: Case) -> Iterator[str]:
    after = case.after.by_id("decisions")
    for was in case.before.decisions:
        now = after.get(was.id)
        if now is None:
            yield f"decision {was.id} is gone"
            continue
        same = (
            "revision_id",
            "member_id",
            "on_behalf_of_id",
            "verdict",
            "digest",
            "reason",
        )
        if any(getattr(was, name) != getattr(now, name) for name in same):
            yield f"decision {was.id} was rewritten"
        if was.dismissed_at is not None and now.dismissed_at is None:
            yield f"decision {was.id} counts again"
        if was.taken_back_by_id != now.taken_back_by_id:
            yield from _taken_back(case, was, now)


def _taken_back(case: Case, was: Row, now: Row) -> Iterator[str]:
    """By one of its own people, in time, and before it has led to anything."""
    request = case.before.by_id("requests")[was.request_id]
    current = case.before.current(request)
    if now.taken_back_by_id not in {was.member_id, was.on_behalf_of_id} - {None}:
        yield f"decision {was.id} was taken back by somebody else"
    if was.dismissed_at is not None or now.dismissed_at is None:
        yield f"decision {was.id} was taken back, and counts as it did before"
    if (request.state, current.id) != ("pending", was.revision_id):
        yield f"decision {was.id} was taken back of what is {request.state}"
    elif request.due_at <= case.before.now:
        yield f"decision {was.id} was taken back too late"


def grants_are_earned(case: Case) -> Iterator[str]:
    """A grant follows from decisions that satisfied what was owed as it was issued."""
    requests, revisions = case.after.by_id("requests"), case.after.by_id("revisions")
    for grant in case.new("grants"):
        request, revision = requests[grant.request_id], revisions[grant.revision_id]
        owed = oracle.pinned(oracle.envelope_of(revision))
        if owed.verdict == "allow":
            continue
        if owed.verdict == "deny" or not _earned(case, grant, request, revision, owed):
            yield f"grant {grant.id} was not earned"


def _earned(
    case: Case, grant: Row, request: Row, revision: Row, owed: oracle.Owed
) -> bool:
    """Also of decisions that were dismissed since, in the same step; of none that was
    taken back."""
    kept = {"revision_id": revision.id, "taken_back_by_id": None}
    people = {
        one.member_id
        for one in find(case.after.decisions, **kept)
        if one.verdict == "approve"
        and (one.dismissed_at is None or one.dismissed_at >= case.before.now)
    }
    counted = people & oracle.may_count(case.after, request, revision, owed)
    # Those who turned their key before may have lost the right since; that is found
    # out when the grant is consumed. The last key is one that counts.
    return oracle.enough(owed, people) and bool(counted)


def answers_are_earned(case: Case) -> Iterator[str]:
    requests = case.before.by_id("requests")
    for request in find(case.after.requests, state="answered"):
        if requests.get(request.id) and requests[request.id].state == "answered":
            continue
        revision = case.after.current(request)
        owed = oracle.pinned(oracle.envelope_of(revision))
        people = {
            one.member_id for one in oracle.approvals(case.after, revision, "respond")
        }
        if not oracle.enough(owed, people):
            yield f"request {request.id} was answered by too few"


RULES: Final[tuple[Callable[[Case], Iterator[str]], ...]] = (
    statuses_move_along_their_tables,
    runs_keep_one_unbroken_fence,
    revisions_are_what_their_digest_says,
    effects_have_a_consumed_grant_for_those_bytes,
    grants_are_single,
    jobs_are_single,
    tools_act_once_and_only_under_a_grant,
    outcomes_are_true,
    attempts_are_numbered,
    decisions_are_of_people_who_may,
    uses_are_counted,
    standing_approvals_are_of_deciders,
    nobody_counts_twice,
    what_was_decided_stays,
    grants_are_earned,
    answers_are_earned,
)
