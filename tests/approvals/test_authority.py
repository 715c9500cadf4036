"""Between decide and consume the world changes: nothing happens, and it is said why.

TRUST's row "authority re-verified", in both tool modes: each change alone gives no
effect, a code and class of its own, a stored report and an audit entry; and without
a change there is exactly one effect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from approvals.models import Grant, Request, ResumeJob, Revision, VerificationReport
from approvals.resume.work import work
from approvals.services.queues import take_right
from approvals.services.redeem import redeem
from approvals.services.revoke import revoke
from audit.models import Entry
from checkpoints.models import Effect
from checkpoints.services.tools import change_tool, disable_tool
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.contract import Claim
from sessions.models import Run
from sessions.services.runs import record_transition
from tenants.services import deactivate_member, disable_agent, revoke_key, stop_tenant
from tests.approvals.stage import SCHEMA, Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.tool_server import ToolServer


@dataclass(frozen=True, kw_only=True)
class Approved:
    """An approved request of one stage, not yet acted on."""

    stage: Stage
    request: Request
    run: Run


def tighten(case: Approved) -> None:
    case.stage.policy(rules=[{"approvals": 2}])


def deny(case: Approved) -> None:
    case.stage.policy("stop", verdict="deny")


def remove_right(case: Approved) -> None:
    stage = case.stage
    take_right(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        queue_id=stage.queue.id,
        right="decide",
        group_id=stage.house.reviewers.id,
    )


def deactivate(case: Approved) -> None:
    stage = case.stage
    deactivate_member(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, member_id=stage.bob.id
    )


def change_definition(case: Approved) -> None:
    stage, tool = case.stage, case.stage.tool
    definition = {**tool.definition, "schema": {**SCHEMA, "maxProperties": 9}}
    change_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        tool_id=tool.id,
        mode=tool.mode,
        risk=tool.risk,
        definition=definition,
    )


def switch_tool_off(case: Approved) -> None:
    disable_tool(
        tenant_id=case.stage.tenant_id,
        by=case.stage.house.alice.id,
        tool_id=case.stage.tool.id,
    )


def sql(statement: str) -> Callable[[Approved], None]:
    """A superuser edits the rows of this one request."""

    def edit(case: Approved) -> None:
        with superuser() as connection:
            connection.execute(
                statement,
                {
                    "request": case.request.id,
                    "tenant": case.stage.tenant_id,
                    "run": case.run.id,
                    "bob": case.stage.bob.id,
                    "alice": case.stage.house.alice.id,
                },
            )

    return edit


ALTER_ARGUMENTS = """UPDATE approvals_revision SET envelope =
  convert_to(replace(convert_from(envelope, 'UTF8'), '1240.00', '9999.00'), 'UTF8')
  WHERE request_id = %(request)s"""
ALTER_AND_REDIGEST = """WITH altered AS (
    UPDATE approvals_revision SET envelope =
      convert_to(replace(convert_from(envelope, 'UTF8'), '1240.00', '9999.00'), 'UTF8')
    WHERE request_id = %(request)s RETURNING envelope, request_id),
  digested AS (SELECT sha256('keyturn/approval/v1'::bytea || '\\x00'::bytea || envelope)
    AS digest, request_id FROM altered),
  g AS (UPDATE approvals_grant SET digest = d.digest FROM digested d
    WHERE approvals_grant.request_id = d.request_id),
  c AS (UPDATE approvals_decision SET digest = d.digest FROM digested d
    WHERE approvals_decision.request_id = d.request_id)
  SELECT 1"""
EXPIRE = """UPDATE approvals_grant SET not_before = now() - interval '2 hour',
  expires_at = now() - interval '1 hour' WHERE request_id = %(request)s"""
FORGE_ACTOR = """UPDATE approvals_decision SET member_id = %(alice)s
  WHERE request_id = %(request)s"""


NOBODYS_GRANT = """WITH altered AS (
    SELECT id, convert_to(replace(regexp_replace(convert_from(envelope, 'UTF8'),
      '"rules":\\[.*?\\],"use_within"', '"rules":[],"use_within"'),
      '"verdict":"require_review"', '"verdict":"allow"'), 'UTF8') AS envelope
    FROM approvals_revision WHERE request_id = %(request)s),
  digested AS (SELECT id, envelope,
    sha256('keyturn/approval/v1'::bytea || '\\x00'::bytea || envelope) AS digest
    FROM altered),
  r AS (UPDATE approvals_revision v SET envelope = d.envelope, digest = d.digest
    FROM digested d WHERE v.id = d.id),
  g AS (UPDATE approvals_grant g SET digest = d.digest
    FROM digested d WHERE g.revision_id = d.id)
  DELETE FROM approvals_decision WHERE request_id = %(request)s"""
LOOSEN = """UPDATE approvals_policyrevision SET definition = '{"verdict": "allow"}'
  WHERE tenant_id = %(tenant)s"""
PROLONG = """UPDATE approvals_grant SET expires_at = expires_at + interval '1 day'
  WHERE request_id = %(request)s"""
HASTEN = """UPDATE approvals_grant SET not_before = not_before - interval '1 day'
  WHERE request_id = %(request)s"""
DISOWN = """UPDATE approvals_policyrevision SET author_id = NULL
  WHERE tenant_id = %(tenant)s"""
COSIGN = """UPDATE approvals_policyrevision SET cosigned_by_id = %(alice)s
  WHERE tenant_id = %(tenant)s"""
REVIVE = """WITH
  g AS (UPDATE approvals_grant SET state = 'live', ended_at = NULL,
    due_at = expires_at WHERE request_id = %(request)s),
  d AS (UPDATE approvals_decision SET dismissed_at = NULL
    WHERE request_id = %(request)s),
  p AS (UPDATE approvals_pause SET closed_at = NULL WHERE run_id = %(run)s),
  j AS (UPDATE approvals_resumejob SET state = 'queued', due_at = now(),
    ended_at = NULL WHERE request_id = %(request)s),
  n AS (UPDATE agent_sessions_run SET state = 'paused', due_at = NULL
    WHERE id = %(run)s)
  UPDATE approvals_request SET state = 'approved' WHERE id = %(request)s"""

REDATE_FACT = """
  UPDATE agent_sessions_fact SET observed_at = clock_timestamp() + interval '1 hour'
  WHERE run_id = (SELECT run_id FROM approvals_request WHERE id = %(request)s)"""
REWRITE_FACT = """
  UPDATE agent_sessions_fact SET value = '1'
  WHERE run_id = (SELECT run_id FROM approvals_request WHERE id = %(request)s)"""
REWRITE_BOTH = f"""
  WITH fact AS ({REWRITE_FACT} RETURNING run_id)
  UPDATE agent_sessions_transition
  SET changes = jsonb_set(changes, '{{ready,to}}', '1e30')
  WHERE changes ? 'ready' AND run_id IN (SELECT run_id FROM fact)"""


def revoke_it(case: Approved) -> None:
    revoke(case.stage.bob.person, request_id=case.request.id, reason="No.")


def switch_agent_off(case: Approved) -> None:
    house = case.stage.house
    disable_agent(tenant_id=house.id, by=house.alice.id, agent_id=house.robot.agent.id)


def revoke_the_key(case: Approved) -> None:
    house = case.stage.house
    revoke_key(tenant_id=house.id, by=house.alice.id, key_id=house.robot.key.id)


def stop_everything(case: Approved) -> None:
    stop_tenant(tenant_id=case.stage.tenant_id, by=case.stage.house.alice.id)


def change_fact(case: Approved) -> None:
    with tenant_transaction(case.stage.tenant_id):
        version = Run.objects.get(id=case.run.id).version
    record_transition(
        who=case.stage.house.robot.principal,
        run_id=case.run.id,
        fence=case.run.fence,
        expected_version=version,
        facts={
            "ready": Claim(
                value=False, provenance="tool", reference="ready", evidence_digest="ab"
            )
        },
        reason="It changed.",
    )


CHANGES: dict[str, tuple[Callable[[Approved], None], str, str]] = {
    "policy tightened": (tighten, "authority.policy_changed", "reopen"),
    "policy denies": (deny, "authority.policy_changed", "reopen"),
    "reviewer's right removed": (
        remove_right,
        "authority.decider_not_eligible",
        "reopen",
    ),
    "reviewer deactivated": (deactivate, "authority.decider_inactive", "reopen"),
    "arguments altered": (sql(ALTER_ARGUMENTS), "authority.digest_mismatch", "stop"),
    "arguments and digests altered": (
        sql(ALTER_AND_REDIGEST),
        "authority.digest_mismatch",
        "stop",
    ),
    "decider rewritten": (
        sql(FORGE_ACTOR),
        "authority.decision_not_in_audit",
        "stop",
    ),
    "approval that nobody gave": (
        sql(NOBODYS_GRANT),
        "authority.revision_not_in_audit",
        "stop",
    ),
    "approval prolonged": (sql(PROLONG), "authority.grant_not_in_audit", "stop"),
    "approval hastened": (sql(HASTEN), "authority.grant_not_in_audit", "stop"),
    "tool definition changed": (change_definition, "authority.tool_changed", "reopen"),
    "tool switched off": (switch_tool_off, "authority.tool_disabled", "stop"),
    "grant expired": (sql(EXPIRE), "authority.grant_expired", "stop"),
    "agent switched off": (switch_agent_off, "identity.agent_disabled", "stop"),
    "key revoked": (revoke_the_key, "identity.key_revoked", "stop"),
    "tenant stopped": (stop_everything, "identity.tenant_stopped", "stop"),
    "fact redated": (sql(REDATE_FACT), "authority.fact_not_in_audit", "stop"),
    "fact rewritten": (sql(REWRITE_FACT), "authority.fact_not_in_audit", "stop"),
    "fact's history rewritten": (
        sql(REWRITE_BOTH),
        "authority.fact_not_in_audit",
        "stop",
    ),
    "precondition changed": (change_fact, "authority.precondition_failed", "reopen"),
}


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


def test_ten_deliveries_make_one_effect(tool_server: ToolServer) -> None:
    case = approved("managed", tool_server)
    with tenant_transaction(case.stage.tenant_id):
        job = ResumeJob.objects.get(request=case.request)
    outcomes = [work(job.id) for _ in range(10)]
    assert outcomes == ["confirmed"] + ["not_due"] * 9
    assert tool_server.calls() == 1
