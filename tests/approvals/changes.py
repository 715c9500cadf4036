"""What may change after an approval, each with the refusal that it must come to."""

from collections.abc import Callable
from dataclasses import dataclass

from approvals.models import Request
from approvals.services.queues import take_right
from approvals.services.revoke import revoke
from checkpoints.services.tools import change_tool, disable_tool
from kernel.scope import tenant_transaction
from sessions.contract import Claim
from sessions.models import Run
from sessions.services.runs import record_transition
from tenants.services import (
    deactivate_member,
    disable_agent,
    remove_from_group,
    revoke_key,
    stop_tenant,
)
from tests.approvals.stage import SCHEMA, Stage
from tests.approvals.superuser import superuser


@dataclass(frozen=True, kw_only=True)
class Approved:
    """An approved request of one stage, not yet acted on."""

    stage: Stage
    request: Request
    run: Run


def tighten(case: Approved) -> None:
    case.stage.policy(rules=[{"approvals": 2}])


def ask_for_a_fresh_sign_in(case: Approved) -> None:
    """And the row says that the reviewer had just signed in, as the log does not."""
    case.stage.policy("fresh", reauthentication=300)
    sql(JUST_SIGNED_IN)(case)


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


def leave_group(case: Approved) -> None:
    """The right is the group's: whoever is put out of it has it no more."""
    stage = case.stage
    remove_from_group(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        group_id=stage.house.reviewers.id,
        member_id=stage.bob.id,
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


HIDE = """UPDATE approvals_policy SET current = NULL
  WHERE tenant_id = %(tenant)s AND name = 'closed'"""


BLIND = """UPDATE approvals_policyrevision
  SET definition = definition || '{"selector": "false"}'
  WHERE tenant_id = %(tenant)s AND definition->>'verdict' = 'deny'"""


SUPERSEDE = """WITH r AS (INSERT INTO approvals_policyrevision
    (id, created_at, tenant_id, policy_id, number, definition, digest)
    SELECT gen_random_uuid(), now(), p.tenant_id, p.id, 2,
      '{"verdict": "deny", "selector": "false"}', '' FROM approvals_policy p
    WHERE p.tenant_id = %(tenant)s AND p.name = 'closed')
  UPDATE approvals_policy SET current = 2
  WHERE tenant_id = %(tenant)s AND name = 'closed'"""


SOLO = "UPDATE tenants_tenant SET solo = true WHERE id = %(tenant)s"


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


JUST_SIGNED_IN = """UPDATE approvals_decision
  SET authentication = jsonb_build_object('at', extract(epoch FROM created_at))
  WHERE request_id = %(request)s"""

CHANGES: dict[str, tuple[Callable[[Approved], None], str, str]] = {
    "policy tightened": (tighten, "authority.policy_changed", "reopen"),
    "fresh sign-in wanted": (ask_for_a_fresh_sign_in, "authority.not_fresh", "reopen"),
    "policy denies": (deny, "authority.policy_changed", "reopen"),
    "reviewer's right removed": (
        remove_right,
        "authority.decider_not_eligible",
        "reopen",
    ),
    "reviewer put out of the group": (
        leave_group,
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
