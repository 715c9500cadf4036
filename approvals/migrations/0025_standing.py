"""Standing approvals: what was agreed to beforehand, and which decisions rest on it."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect

# The column came after its table was protected; a decision is never changed in it.
GIVEN = """
ALTER TABLE approvals_decision ADD FOREIGN KEY (tenant_id, standing_id)
  REFERENCES approvals_standingapproval (tenant_id, id);
"""

# Its bounds are the arguments of the session that it was made from: they go with it. The
# function that was is the second half of the one that is: it also ends the work.
PURGE = """
SET LOCAL ROLE keyturn_ledger;
ALTER FUNCTION keyturn_purge_session(uuid, integer) RENAME TO keyturn_purge_said;
REVOKE ALL ON FUNCTION keyturn_purge_said(uuid, integer) FROM PUBLIC, keyturn_app;
CREATE FUNCTION keyturn_purge_session(of_session uuid, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  done integer;
BEGIN
  PERFORM FROM public.agent_sessions_session
    WHERE id = of_session AND erased_at IS NOT NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the session is not erased'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;

  UPDATE public.approvals_standingapproval
     SET constraints = '[]', target = NULL, preconditions = '[]', reason = '',
         revoked_reason = '' WHERE id IN (
    SELECT s.id FROM public.approvals_standingapproval s
      JOIN public.approvals_request q ON q.id = s.request_id
     WHERE q.session_id = of_session
       AND (s.constraints <> '[]' OR s.target IS NOT NULL OR s.preconditions <> '[]'
         OR s.reason <> '' OR s.revoked_reason <> '') LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  RETURN public.keyturn_purge_said(of_session, most);
END $$;
REVOKE ALL ON FUNCTION keyturn_purge_session(uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyturn_purge_session(uuid, integer) TO keyturn_app;
RESET ROLE;
"""
RIGHTS = """
GRANT SELECT, UPDATE (constraints, target, preconditions, reason, revoked_reason)
  ON approvals_standingapproval TO keyturn_ledger;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0024_delegation'),
        ('checkpoints', '0008_status_digest'),
        ('tenants', '0010_second_factors'),
    ]

    operations = [
        migrations.CreateModel(
            name='StandingApproval',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('tool_digest', models.BinaryField(max_length=32)),
                ('environment', models.CharField(max_length=32)),
                ('risk', models.CharField(choices=[('low', 'Low'), ('medium', 'Medium'), ('high', 'High'), ('critical', 'Critical')], max_length=8)),
                ('constraints', models.JSONField(default=list)),
                ('target', models.JSONField(null=True)),
                ('preconditions', models.JSONField(default=list)),
                ('revision', models.PositiveIntegerField()),
                ('reason', models.TextField(blank=True)),
                ('digest', models.BinaryField(max_length=32)),
                ('expires_at', models.DateTimeField()),
                ('uses', models.PositiveIntegerField()),
                ('used', models.PositiveIntegerField(default=0)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('revoked_reason', models.TextField(blank=True)),
                ('agent', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.agent')),
                ('author', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member')),
                ('request', tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.request')),
                ('revoked_by', tenants.models.base.TenantForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
                ('tool', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='checkpoints.tool')),
            ],
        ),
        migrations.AddField(
            model_name='decision',
            name='standing',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.standingapproval'),
        ),
        migrations.AddIndex(
            model_name='standingapproval',
            index=models.Index(condition=models.Q(('revoked_at', None)), fields=['tenant', 'agent', 'tool'], name='standing_of_agent'),
        ),
        migrations.AddIndex(
            model_name='standingapproval',
            index=models.Index(fields=['tenant', 'request'], name='standing_of_request'),
        ),
        migrations.AddIndex(
            model_name='standingapproval',
            index=models.Index(fields=['tenant', '-created_at'], name='standing_newest'),
        ),
        migrations.AddConstraint(
            model_name='standingapproval',
            constraint=models.CheckConstraint(condition=models.Q(('used__lte', models.F('uses'))), name='standing_used_at_most'),
        ),
        migrations.AddConstraint(
            model_name='standingapproval',
            constraint=models.CheckConstraint(condition=models.Q(('revoked_at__isnull', False), models.Q(('revoked_by', None), ('revoked_reason', '')), _connector='OR'), name='standing_revoked_once'),
        ),
        protect(
            "approvals",
            Table(
                model="StandingApproval",
                update=("used", "revoked_at", "revoked_by_id", "revoked_reason"),
                gated=("revoked_at",),
            ),
        ),
        *(migrations.RunSQL(one) for one in (GIVEN, RIGHTS, PURGE)),
    ]
