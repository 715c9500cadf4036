"""Row-level security, immutable rows, and the relay's narrow view of what is due."""

from django.db import migrations

from kernel.protect import Table, protect

REQUEST = (
    "queue_id",
    "state",
    "revision",
    "risk",
    "title",
    "explanation",
    "allowed",
    "response",
    "resolution",
    "due_at",
    "decided_at",
)
GRANT = ("state", "due_at", "ended_at", "reason")
JOB = ("state", "claim", "attempts", "due_at", "code", "ended_at")

# Messages carry a job's id alone; the worker asks whose it is.
JOB_TENANT = """
GRANT SELECT ON approvals_resumejob TO keyturn_lookup;
CREATE POLICY lookup ON approvals_resumejob
  FOR SELECT TO keyturn_lookup USING (true);
CREATE FUNCTION keyturn_job_tenant(job uuid) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT j.tenant_id FROM public.approvals_resumejob j WHERE j.id = job $$;
REVOKE ALL ON FUNCTION keyturn_job_tenant(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyturn_job_tenant(uuid) TO keyturn_app;
ALTER FUNCTION keyturn_job_tenant(uuid) OWNER TO keyturn_lookup;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO keyturn_app;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0002_initial"),
        ("checkpoints", "0003_protect"),
    ]

    operations = [
        protect(
            "approvals",
            Table(model="Queue", update=("name", "default"), gated=()),
            Table(model="QueueUserPermission", update=(), delete=True, gated=()),
            Table(model="QueueGroupPermission", update=(), delete=True, gated=()),
            Table(model="Policy", update=("current",), gated=()),
            Table(model="PolicyRevision", update=("cosigned_by_id",), gated=()),
            Table(model="Pause", update=("closed_at",)),
            Table(model="Request", update=REQUEST, relay=True),
            Table(model="Revision", update=()),
            Table(model="Decision", update=("dismissed_at", "dismissed_reason")),
            Table(model="Grant", update=GRANT, relay=True),
            Table(model="ResumeJob", update=JOB, relay=True),
            Table(model="VerificationReport", update=()),
        ),
        migrations.RunSQL(JOB_TENANT),
    ]
