"""Between decide and consume the world changes: nothing happens, and it is said why.

TRUST's row "authority re-verified", in both tool modes: each change alone gives no
effect, a code and class of its own, a stored report and an audit entry; and without
a change there is exactly one effect.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from approvals.models import (
    Decision,
    Grant,
    Request,
    ResumeJob,
    Revision,
    VerificationReport,
)
from approvals.resume.work import work
from approvals.services.case import Answer
from approvals.services.decide import decide
from approvals.services.redeem import redeem
from audit.models import Entry
from checkpoints.models import Effect
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.contract import Claim
from sessions.services.runs import record_transition
from tests.approvals.changes import (
    ALTER_ARGUMENTS,
    BLIND,
    CHANGES,
    COSIGN,
    DISOWN,
    HIDE,
    LOOSEN,
    REVIVE,
    SOLO,
    SUPERSEDE,
    Approved,
    revoke_it,
    sql,
)
from tests.approvals.stage import fresh_stage, staged
from tests.approvals.superuser import superuser
from tests.approvals.tool_server import ToolServer
from tests.factories import House, fresh_agent, fresh_tenant


def approved(mode: str, server: ToolServer) -> Approved:
    """A request that Bob approved; its precondition holds."""
    stage = fresh_stage(mode, **(server.definition() if mode == "managed" else {}))
    run = stage.run()
    record_transition(
        who=stage.house.robot.principal,
        run_id=run.id,
        fence=run.fence,
        expected_version=0,
        facts={
            "ready": Claim(
                value=True, provenance="tool", reference="ready", evidence_digest="ab"
            )
        },
        reason="Checked.",
    )
    request = stage.ask(run, preconditions=({"field": "ready", "equals": True},))
    stage.answer(request)
    return Approved(stage=stage, request=request, run=run)


def act(case: Approved) -> str:
    """Through the door of the tool's mode; returns the code of what came of it."""
    with tenant_transaction(case.stage.tenant_id):
        job = ResumeJob.objects.filter(request=case.request).earliest("created_at")
    outcome = work(job.id)
    if case.stage.tool.mode == "managed" or outcome != "ready":
        return outcome
    redeem(
        case.stage.house.robot.principal,
        request_id=case.request.id,
        fence=case.run.fence,
    )
    return "started"


def redeem_alone(case: Approved) -> str:
    """The agent tries without the worker's word."""
    try:
        redeem(
            case.stage.house.robot.principal,
            request_id=case.request.id,
            fence=case.run.fence,
        )
    except Problem as problem:
        return problem.code
    return "started"


DOORS: dict[str, tuple[str, Callable[[Approved], str]]] = {
    "worker": ("managed", act),
    "ready": ("agent", act),
    "redeem": ("agent", redeem_alone),
}


def observed(case: Approved) -> dict[str, Any]:
    with tenant_transaction(case.stage.tenant_id):
        report = VerificationReport.objects.filter(request=case.request).latest(
            "created_at"
        )
        return {
            "effects": Effect.objects.filter(request=case.request.id).count(),
            "code": report.code,
            "class": report.refusal,
            "grants": set(Grant.objects.values_list("state", flat=True)),
            "audited": Entry.objects.filter(
                kind="verification.refused",
                subject_id=case.request.id,
                data__code=report.code,
            ).exists(),
            "revisions": Revision.objects.filter(request=case.request).count(),
            "state": Request.objects.get(id=case.request.id).state,
        }


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_after_the_approval_stops_the_action(
    change: str, door: str, tool_server: ToolServer
) -> None:
    make, code, klass = CHANGES[change]
    mode, act_through = DOORS[door]
    case = approved(mode, tool_server)
    make(case)
    assert act_through(case) == code
    seen = observed(case)
    assert seen["effects"] == 0
    assert tool_server.calls() == 0
    assert (seen["code"], seen["class"]) == (code, klass)
    assert seen["audited"]
    assert Grant.State.LIVE not in seen["grants"] or change == "policy denies"
    if klass == "reopen":
        assert seen["revisions"] == 2
        assert seen["state"] == ("rejected" if change == "policy denies" else "pending")
    else:
        assert seen["state"] in {"revoked", "lapsed"}


@pytest.mark.parametrize("door", DOORS)
def test_a_revoked_approval_starts_nothing(door: str, tool_server: ToolServer) -> None:
    mode, act_through = DOORS[door]
    case = approved(mode, tool_server)
    revoke_it(case)
    assert act_through(case) in {"not_due", "not_approved"}
    with tenant_transaction(case.stage.tenant_id):
        assert not Effect.objects.exists()


def test_a_policy_that_nobody_published_allows_nothing() -> None:
    stage = fresh_stage("agent")
    stage.let_through("closed", verdict="deny")
    with superuser() as connection:
        connection.execute(LOOSEN, {"tenant": stage.tenant_id})
    run = stage.run()
    case = Approved(stage=stage, request=stage.ask(run), run=run)
    assert redeem_alone(case) == "authority.policy_not_in_audit"
    assert observed(case)["effects"] == 0


@pytest.mark.parametrize("edit", [HIDE, BLIND, SUPERSEDE])
def test_a_policy_that_was_made_to_say_nothing_lets_nothing_pass(edit: str) -> None:
    """What it would refuse is asked, granted and used while another one allows it."""
    stage = fresh_stage("agent")
    stage.let_through("open")
    stage.let_through("closed", verdict="deny")
    with superuser() as connection:
        connection.execute(edit, {"tenant": stage.tenant_id})
    run = stage.run()
    case = Approved(stage=stage, request=stage.ask(run), run=run)
    assert stage.fresh(case.request).state == Request.State.APPROVED
    assert redeem_alone(case) == "authority.policies_not_in_audit"
    assert observed(case)["effects"] == 0


def test_a_tenant_is_one_persons_only_if_the_log_says_so() -> None:
    """Else an owner would approve what their own agent asks."""
    stage = fresh_stage("agent")
    alice = stage.house.alice
    with superuser() as connection, connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(SOLO, {"tenant": stage.tenant_id})
    run = stage.run()
    case = Approved(stage=stage, request=stage.ask(run), run=run)
    stage.answer(case.request, by=alice)
    assert stage.fresh(case.request).state == Request.State.APPROVED
    assert redeem_alone(case) == "authority.solo_not_in_audit"
    assert observed(case)["effects"] == 0


def test_a_tenant_that_was_founded_for_one_person_goes_on_as_such() -> None:
    tenant, alice, reviewers = fresh_tenant("Alice", solo=True)
    house = House(
        tenant=tenant,
        reviewers=reviewers,
        alice=alice,
        bob=alice,
        robot=fresh_agent(alice),
    )
    stage = staged(house)
    run = stage.run()
    case = Approved(stage=stage, request=stage.ask(run), run=run)
    stage.answer(case.request, by=alice)
    assert redeem_alone(case) == "started"


@pytest.mark.parametrize("edit", [DISOWN, COSIGN])
def test_who_stands_for_a_policy_is_who_the_log_says(edit: str) -> None:
    """An author who is not one any more could decide on what their policy allows."""
    stage = fresh_stage("agent")
    stage.policy()
    run = stage.run()
    case = Approved(stage=stage, request=stage.ask(run), run=run)
    stage.answer(case.request)
    sql(edit)(case)
    assert redeem_alone(case) == "authority.policy_not_in_audit"
    assert observed(case)["effects"] == 0


def test_a_revoked_approval_cannot_be_put_back(tool_server: ToolServer) -> None:
    case = approved("agent", tool_server)
    revoke_it(case)
    sql(REVIVE)(case)
    assert redeem_alone(case) == "authority.grant_not_in_audit"
    assert observed(case)["effects"] == 0


def test_what_is_handed_over_again_is_what_was_asked(tool_server: ToolServer) -> None:
    case = approved("agent", tool_server)
    assert redeem_alone(case) == "started"
    sql(ALTER_ARGUMENTS)(case)
    assert redeem_alone(case) == "authority.revision_not_in_audit"


@pytest.mark.parametrize("mode", ["managed", "agent"])
def test_without_a_change_there_is_one_effect(
    mode: str, tool_server: ToolServer
) -> None:
    case = approved(mode, tool_server)
    assert act(case) == ("confirmed" if mode == "managed" else "started")
    with tenant_transaction(case.stage.tenant_id):
        effect = Effect.objects.get(request=case.request.id)
        report = VerificationReport.objects.filter(request=case.request).latest(
            "created_at"
        )
        assert [one["passed"] for one in report.checks] == [True] * 4
        assert Grant.objects.get(request=case.request).state == Grant.State.CONSUMED
    if mode == "managed":
        assert tool_server.keys() == [bytes(effect.key).hex()]


@pytest.mark.parametrize(("ago", "code"), [(59.2, ""), (60.4, "authority.not_fresh")])
def test_a_sign_in_is_as_old_as_it_was_signed(ago: float, code: str) -> None:
    stage = fresh_stage("agent")
    run = stage.run()
    request = stage.ask(run)
    person = replace(stage.bob.person, authenticated_ago=ago, methods=("password",))
    answer = Answer(verdict=Decision.Verdict.APPROVE, digest=stage.digest(request))
    decide(person, request_id=request.id, answer=answer)
    stage.policy("fresh", reauthentication=60)
    case = Approved(stage=stage, request=request, run=run)
    assert redeem_alone(case) == (code or "started")


def test_ten_deliveries_make_one_effect(tool_server: ToolServer) -> None:
    case = approved("managed", tool_server)
    with tenant_transaction(case.stage.tenant_id):
        job = ResumeJob.objects.get(request=case.request)
    outcomes = [work(job.id) for _ in range(10)]
    assert outcomes == ["confirmed"] + ["not_due"] * 9
    assert tool_server.calls() == 1
