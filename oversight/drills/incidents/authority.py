"""Between the decision and the action the world changes: nothing happens.

Each change alone gives no effect, a code and class of its own, and an audit entry; and
without a change there is one effect. The action is the agent's own, so that nothing but
the change stands between its approval and its redemption.
"""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Final
from uuid import UUID

from django.db import connection

from approvals.models import Grant, Request, Revision, VerificationReport
from approvals.services.queues import take_right
from approvals.services.redeem import redeem
from approvals.services.revoke import revoke
from audit.models import Entry
from checkpoints.models import Effect, Tool
from checkpoints.services.tools import change_tool, disable_tool
from kernel.clock import database_now
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from oversight.drills.house import House
from oversight.drills.incident import incident
from oversight.drills.scene import Scene
from sessions.contract import Claim
from sessions.models import Provenance, Run
from sessions.services.runs import record_transition
from tenants.models import Agent
from tenants.services import (
    deactivate_member,
    disable_agent,
    remove_from_group,
    revoke_key,
    stop_tenant,
)
from tenants.verbs import Gate, Verb, perform

type Change = Callable[[House, Request], None]


def remove_from_the_group(house: House, request: Request) -> None:
    remove_from_group(
        tenant_id=house.id,
        by=house.by,
        group_id=house.reviewers.id,
        member_id=house.bob.member.id,
    )


def take_the_right(house: House, request: Request) -> None:
    take_right(
        tenant_id=house.id,
        by=house.by,
        queue_id=house.queue.id,
        right="decide",
        group_id=house.reviewers.id,
    )


def deactivate(house: House, request: Request) -> None:
    member_id = house.bob.member.id
    deactivate_member(tenant_id=house.id, by=house.by, member_id=member_id)


def tighten_policy(house: House, request: Request) -> None:
    house.policy(rules=[{"approvals": 2}])


def disable_the_agent(house: House, request: Request) -> None:
    agent_id = house.robot.agent_id
    disable_agent(tenant_id=house.id, by=house.by, agent_id=agent_id)


def revoke_the_key(house: House, request: Request) -> None:
    revoke_key(tenant_id=house.id, by=house.by, key_id=house.robot.key_id)


def stop_the_tenant(house: House, request: Request) -> None:
    stop_tenant(tenant_id=house.id, by=house.by)


def change_definition(house: House, request: Request) -> None:
    tool = _tool(house)
    definition = {**tool.definition, "description": "It does something else now."}
    change_tool(
        tenant_id=house.id,
        by=house.by,
        tool_id=tool.id,
        mode=tool.mode,
        risk=tool.risk,
        definition=definition,
    )


def switch_tool_off(house: House, request: Request) -> None:
    disable_tool(tenant_id=house.id, by=house.by, tool_id=_tool(house).id)


def change_fact(house: House, request: Request) -> None:
    state_fact(house, request.run_id, ready=False)


CHANGES: Final[dict[str, tuple[str, Change, str, str]]] = {
    "group-removed": (
        "The reviewer leaves the group",
        remove_from_the_group,
        "authority.decider_not_eligible",
        "reopen",
    ),
    "right-taken": (
        "The group may no longer decide on the queue",
        take_the_right,
        "authority.decider_not_eligible",
        "reopen",
    ),
    "reviewer-deactivated": (
        "The reviewer is deactivated",
        deactivate,
        "authority.decider_inactive",
        "reopen",
    ),
    "policy-tightened": (
        "Policy now asks for two people",
        tighten_policy,
        "authority.policy_changed",
        "reopen",
    ),
    "tool-changed": (
        "The tool's definition is changed",
        change_definition,
        "authority.tool_changed",
        "reopen",
    ),
    "precondition-changed": (
        "A fact that the action rests on changes",
        change_fact,
        "authority.precondition_failed",
        "reopen",
    ),
    "tool-disabled": (
        "The tool is switched off",
        switch_tool_off,
        "authority.tool_disabled",
        "stop",
    ),
    "agent-disabled": (
        "The agent is switched off",
        disable_the_agent,
        "identity.agent_disabled",
        "stop",
    ),
    "key-revoked": (
        "The agent's key is revoked",
        revoke_the_key,
        "identity.key_revoked",
        "stop",
    ),
    "tenant-stopped": (
        "The tenant is stopped",
        stop_the_tenant,
        "identity.tenant_stopped",
        "stop",
    ),
}


def approved(scene: Scene) -> tuple[House, Request]:
    """A house with an agent's action that Bob approved; its precondition holds."""
    house = scene.house()
    house.agent_tool()
    return house, approved_in(scene, house)


def approved_in(scene: Scene, house: House) -> Request:
    """One more of them, in a run of its own."""
    run = house.run()
    state_fact(house, run.id, ready=True)
    precondition = {"field": "ready", "equals": True}
    request = house.approved(run, preconditions=(precondition,))
    scene.note_run(house, run.id)
    return request


def state_fact(house: House, run_id: UUID, *, ready: bool) -> None:
    run = house.fresh(_run(house, run_id))
    record_transition(
        who=house.robot,
        run_id=run.id,
        fence=run.fence,
        expected_version=run.version,
        facts={"ready": _ready(ready)},
        reason="It was looked at.",
    )


def _ready(ready: bool) -> Claim:
    evidence = hashlib.sha256(f"ready {ready}".encode()).hexdigest()
    return Claim(
        value=ready,
        provenance=Provenance.TOOL,
        reference="look",
        evidence_digest=evidence,
    )


def redeemed(house: House, request: Request) -> str:
    """What redeeming comes to: "started", or the code that refused it."""
    run = _run(house, request.run_id)
    try:
        redeem(house.robot, request_id=request.id, fence=run.fence)
    except Problem as problem:
        return problem.code
    return "started"


@incident("authority-control", "Nothing changes after the approval: one effect")
def nothing_changes(scene: Scene) -> None:
    house, request = approved(scene)
    scene.equal("it is redeemed", redeemed(house, request), "started")
    with tenant_transaction(house.id):
        grant = Grant.objects.get(request=request)
        report = VerificationReport.objects.get(request=request, door="redeem")
    scene.equal("the grant is consumed", grant.state, Grant.State.CONSUMED)
    held = [check["check"] for check in report.checks if check["passed"]]
    wanted = ["identity", "position", "effects", "authority"]
    scene.equal("all four checks held", held, wanted)


def _register(name: str) -> None:
    promise, change, code, klass = CHANGES[name]

    @incident(f"authority-{name}", f"{promise} after the approval: nothing happens")
    def change_one_thing(scene: Scene) -> None:
        house, request = approved(scene)
        change(house, request)
        _check_not_started(scene, redeemed(house, request), code)
        check_refused(scene, house, request, code, klass)


for _name in CHANGES:
    _register(_name)


@incident("authority-revoked", "The approval is taken back in time: nothing happens")
def revoked_in_time(scene: Scene) -> None:
    house, request = approved(scene)
    revoke(house.bob.person, request_id=request.id, reason="I was wrong.")
    scene.equal("it is refused", redeemed(house, request), "not_approved")
    _check_nothing_happened(scene, house, request)
    state = house.fresh(request).state
    scene.equal("the request is revoked", state, Request.State.REVOKED)


@incident("authority-expired", "The approval is not used in time: nothing happens")
def not_used_in_time(scene: Scene) -> None:
    house = scene.house()
    house.agent_tool()
    request = house.approved(use_within=1)
    with tenant_transaction(house.id):
        expires_at = Grant.objects.get(request=request).expires_at
    scene.wait("its time is over", lambda: database_now() > expires_at)
    code = redeemed(house, request)
    # A sweep may have come first, and then the request is not approved any more.
    scene.check(
        "it is refused", code in {"authority.grant_expired", "not_approved"}, code
    )
    _check_nothing_happened(scene, house, request)
    state = house.fresh(request).state
    scene.equal("the request has lapsed", state, Request.State.LAPSED)


@incident(
    "authority-race", "The change is under way as the action begins: the change wins"
)
def change_under_way(scene: Scene) -> None:
    house, request = approved(scene)
    changed, may_commit = Event(), Event()

    def disable(verb: Verb) -> None:
        Agent.objects.filter(id=house.robot.agent_id).update(enabled=False)
        changed.set()
        may_commit.wait(timeout=10)

    with ThreadPoolExecutor(2) as pool:
        changing = pool.submit(_closing, lambda: _change(house, disable))
        changed.wait(timeout=10)
        redeeming = pool.submit(_closing, lambda: redeemed(house, request))
        # Without a gate it would not wait, and would have begun.
        scene.wait(
            "the redemption comes to the gate",
            lambda: redeeming.done() or _waits(house),
        )
        may_commit.set()
        changing.result()
        _check_not_started(scene, redeeming.result(), "identity.agent_disabled")
    _check_nothing_happened(scene, house, request)


def _check_not_started(scene: Scene, found: str, code: str) -> None:
    """The worker may have looked first, and then there is no approval to redeem."""
    scene.check("it is refused", found in {code, "not_approved"}, found)


def check_refused(
    scene: Scene, house: House, request: Request, code: str, klass: str
) -> None:
    """Nothing happened, it is on record, and what the class says was done."""
    _check_nothing_happened(scene, house, request)
    with tenant_transaction(house.id):
        report = VerificationReport.objects.filter(request=request).latest("created_at")
        audited = Entry.objects.filter(
            kind="verification.refused", subject_id=request.id, data__code=code
        ).exists()
        revisions = Revision.objects.filter(request=request).count()
    said = (report.code, report.refusal)
    scene.equal("the report has code and class", said, (code, klass))
    scene.check("it is in the audit log", audited)
    scene.equal("it is asked anew", revisions, 2 if klass == "reopen" else 1)
    scene.note("verification", report.id)


def _check_nothing_happened(scene: Scene, house: House, request: Request) -> None:
    with tenant_transaction(house.id):
        effects = Effect.objects.filter(request=request.id).count()
        live = Grant.objects.filter(request=request, state=Grant.State.LIVE).count()
    scene.equal("there is no effect", effects, 0)
    scene.equal("there is no live grant", live, 0)


def _change(house: House, work: Callable[[Verb], None]) -> None:
    perform(house.id, work, gate=Gate.EXCLUSIVE)


def _closing[T](act: Callable[[], T]) -> T:
    """In a thread: it has a connection of its own."""
    try:
        return act()
    finally:
        connection.close()


def _waits(house: House) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            " AND ((classid::bigint << 32) | objid::bigint) = keyturn_gate(%s)",
            [house.id],
        )
        return bool(cursor.fetchone()[0])


def _tool(house: House) -> Tool:
    with tenant_transaction(house.id):
        return Tool.objects.get(name="act")


def _run(house: House, run_id: UUID) -> Run:
    with tenant_transaction(house.id):
        return Run.objects.get(id=run_id)
