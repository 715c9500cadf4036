"""What erases is owned by a role that cannot sign in, like whatever else steps in.

The tables' owner may do anything to them; `keyturn_ledger` only what these three
functions do, under the same row-level security as everybody else.
"""

from django.db import migrations

ERASES = {
    "agent_sessions_session": "salt, subject, title, external_id, erased_at, due_at",
    "agent_sessions_run": "reason, result, external_id",
    "agent_sessions_removal": "reason",
    "agent_sessions_transition": "changes, reason",
    "checkpoints_checkpoint": "payload, is_sealed, header",
    "checkpoints_attempt": "evidence",
    "checkpoints_effect": "external_id, action",
    "approvals_revision": "reason, envelope",
    "approvals_request": "title, explanation, response, response_schema, resolution",
    "approvals_decision": "reason, response, dismissed_reason",
    "approvals_verificationreport": "checks, reason",
    "approvals_grant": "reason",
}
REMOVES = (
    "agent_sessions_item",
    "agent_sessions_fact",
    "approvals_summary",
    "approvals_resumejob",
    "approvals_webhookattempt",
    "approvals_webhookdelivery",
    "tenants_idempotencyrecord",
)
RIGHTS = (
    *(
        f"GRANT SELECT, UPDATE ({kept}) ON {name} TO keyturn_ledger"
        for name, kept in ERASES.items()
    ),
    *(f"GRANT SELECT, DELETE ON {name} TO keyturn_ledger" for name in REMOVES),
    "GRANT SELECT ON agent_sessions_hold TO keyturn_ledger",
)
OWNED = tuple(
    f"ALTER FUNCTION {name} OWNER TO keyturn_ledger"
    for name in (
        "keyturn_erase_session(uuid)",
        "keyturn_purge_session(uuid, integer)",
        "keyturn_purge_leftovers(interval, integer)",
    )
)


class Migration(migrations.Migration):
    dependencies = [("approvals", "0011_protect_aap")]

    operations = [migrations.RunSQL(statement) for statement in (*RIGHTS, *OWNED)]
