"""Every column that may hold somebody's text is emptied, or kept for a reason."""

import re
from typing import Any, Final

from django.db import connection

CONFIGURED: Final = "what administrators set up, about no session"
CODE: Final = "one of a few words of ours"
DIGEST: Final = "a digest, or a key"
NAME: Final = "a name that the workflow or an administrator gave"
CHAIN: Final = "the audit chain stays whole; it holds digests and codes"

KEPT_TABLES: Final = {
    "agent_sessions_hold": CONFIGURED,
    "agent_sessions_retention": CONFIGURED,
    "agent_sessions_workflow": CONFIGURED,
    "agent_sessions_workflowdraft": CONFIGURED,
    "approvals_delegation": "when a member is on leave, about no session",
    "approvals_noticesettings": CONFIGURED,
    "approvals_policy": CONFIGURED,
    "approvals_policydraft": CONFIGURED,
    "approvals_policyrevision": CONFIGURED,
    "approvals_queue": CONFIGURED,
    "approvals_savedview": "what somebody looks for, until they delete it",
    "approvals_webhook": CONFIGURED,
    "approvals_webhooksecret": CONFIGURED,
    "audit_entry": CHAIN,
    "audit_head": CHAIN,
    "checkpoints_secretname": CONFIGURED,
    "checkpoints_tool": CONFIGURED,
    "oversight_tally": "numbers by day, under codes, ids and names of tools",
    "oversight_verification": CHAIN,
    "tenants_agent": CONFIGURED,
    "tenants_apikey": CONFIGURED,
    "tenants_datakey": CONFIGURED,
    "tenants_externalidentity": "who a member is at their provider, about no session",
    "tenants_group": CONFIGURED,
    "tenants_groupmapping": CONFIGURED,
    "tenants_invitation": "about no session; the row is gone once it was answered",
    "tenants_joinlink": "about no session: who is invited to enter by the provider",
    "tenants_keyuse": CONFIGURED,
    "tenants_member": CONFIGURED,
    "tenants_secretpattern": CONFIGURED,
    "tenants_singlesignon": CONFIGURED,
}
KEPT: Final = {
    "agent_sessions_branch": {"inherits": "numbers of branches and items"},
    "agent_sessions_removal": {"kind": CODE},
    "agent_sessions_run": {"head_digest": DIGEST, "stage": NAME, "state": CODE},
    "agent_sessions_transition": {
        "actor_type": CODE,
        "from_stage": NAME,
        "from_state": CODE,
        "to_stage": NAME,
        "to_state": CODE,
    },
    "approvals_aaprequest": {
        "body_digest": DIGEST,
        "consume_key": "the SHA-256 of a key",
        "key": "the SHA-256 of a key",
        "outcome": CODE,
        "timeout": "a number and a unit",
    },
    "approvals_context": {"digest": DIGEST, "shape": CODE},
    "approvals_decision": {
        "authentication": "how a member had signed in",
        "digest": DIGEST,
        "review": CODE,
        "verdict": CODE,
    },
    "approvals_grant": {"digest": DIGEST, "state": CODE},
    "approvals_nudge": {"asked_too": "ids of members"},
    "approvals_offerdismissal": {"digest": DIGEST},
    "approvals_pause": {"resume_when": CODE},
    "approvals_request": {"allowed": CODE, "risk": CODE, "state": CODE},
    "approvals_revision": {"author_type": CODE, "digest": DIGEST},
    "approvals_snooze": {"state": CODE},
    "approvals_standingapproval": {
        "digest": DIGEST,
        "environment": CONFIGURED,
        "risk": CODE,
        "tool_digest": DIGEST,
    },
    "approvals_verificationreport": {"code": CODE, "door": CODE, "refusal": CODE},
    "checkpoints_attempt": {"outcome": CODE, "status_digest": DIGEST},
    "checkpoints_checkpoint": {"closes": "ids of requests", "digest": DIGEST},
    "checkpoints_effect": {
        "key": DIGEST,
        "known_as": "computed from the external id, and empty when that one is",
        "state": CODE,
    },
    "checkpoints_restorereport": {"code": CODE, "door": CODE},
}


def rows(sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def texts_of_tenants() -> set[tuple[str, str]]:
    """(table, column) of all texts, bytes, documents and lists in tenants' tables."""
    return {
        (table, column)
        for table, column in rows(
            "SELECT c.relname, a.attname FROM pg_class c"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0"
            " JOIN pg_type t ON t.oid = a.atttypid"
            " WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace"
            " AND NOT a.attisdropped AND (t.typcategory IN ('S', 'A')"
            "  OR t.typname IN ('bytea', 'json', 'jsonb'))"
            " AND EXISTS (SELECT FROM pg_attribute o WHERE o.attrelid = c.oid"
            "  AND o.attname = 'tenant_id' AND NOT o.attisdropped)"
        )
    }


def source() -> str:
    """The functions that erase, as the database has them."""
    found = rows(
        "SELECT prosrc FROM pg_proc WHERE proname = 'keyturn_erase_session'"
        " OR proname LIKE 'keyturn\\_purge\\_%'"
    )
    assert len(found) == 9
    return "\n".join(text for (text,) in found)


def test_no_text_of_a_session_is_forgotten() -> None:
    said = source()
    removed = set(re.findall(r"DELETE FROM public\.(\w+)", said))
    changes = re.findall(r"UPDATE public\.(\w+)\s+SET (.*?)\sWHERE", said, re.DOTALL)
    emptied = {
        (table, column)
        for table, change in changes
        for column in re.findall(r"(?:^|,)\s*(\w+) =", change)
    }
    kept = {(table, column) for table, columns in KEPT.items() for column in columns}
    texts = texts_of_tenants()
    forgotten = {
        f"{table}.{column}"
        for table, column in texts - emptied - kept
        if table not in removed and table not in KEPT_TABLES
    }
    assert forgotten == set()
    assert kept - texts == set()
    assert kept & emptied == set()
    assert len(emptied) > 30
