"""Comments, which go with their session, and who is on a request."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect

# The columns came after their table was protected; a member is of the same tenant.
TAKEN = """
ALTER TABLE approvals_request ADD FOREIGN KEY (tenant_id, taken_by_id)
  REFERENCES tenants_member (tenant_id, id);
GRANT UPDATE (taken_by_id, taken_until) ON approvals_request TO keyturn_app;
"""

# The function that was is the second half of the one that is: it also ends the work.
PURGE = """
SET LOCAL ROLE keyturn_ledger;
ALTER FUNCTION keyturn_purge_session(uuid, integer) RENAME TO keyturn_purge_files;
REVOKE ALL ON FUNCTION keyturn_purge_files(uuid, integer) FROM PUBLIC, keyturn_app;
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

  DELETE FROM public.approvals_comment WHERE id IN (
    SELECT c.id FROM public.approvals_comment c
      JOIN public.approvals_request q ON q.id = c.request_id
     WHERE q.session_id = of_session LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  RETURN public.keyturn_purge_files(of_session, most);
END $$;
REVOKE ALL ON FUNCTION keyturn_purge_session(uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyturn_purge_session(uuid, integer) TO keyturn_app;
RESET ROLE;
"""
RIGHTS = "GRANT SELECT, DELETE ON approvals_comment TO keyturn_ledger"


class Migration(migrations.Migration):

    dependencies = [
        ('agent_sessions', '0009_artifacts'),
        ('approvals', '0017_purge_artifacts'),
        ('checkpoints', '0008_status_digest'),
        ('tenants', '0008_second_admin'),
    ]

    operations = [
        migrations.CreateModel(
            name='Comment',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('text', models.TextField()),
            ],
        ),
        migrations.AddField(
            model_name='request',
            name='taken_by',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member'),
        ),
        migrations.AddField(
            model_name='request',
            name='taken_until',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddConstraint(
            model_name='request',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('taken_by', None), ('taken_until', None)), models.Q(('taken_by__isnull', False), ('taken_until__isnull', False)), _connector='OR'), name='request_taken_until'),
        ),
        migrations.AddField(
            model_name='comment',
            name='member',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member'),
        ),
        migrations.AddField(
            model_name='comment',
            name='request',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.request'),
        ),
        migrations.AddField(
            model_name='comment',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddIndex(
            model_name='comment',
            index=models.Index(fields=['tenant', 'request', 'created_at'], name='comment_of_request'),
        ),
        migrations.AddConstraint(
            model_name='comment',
            constraint=models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='comment_says_something'),
        ),
        protect("approvals", Table(model="Comment", update=())),
        *(migrations.RunSQL(one) for one in (TAKEN, RIGHTS, PURGE)),
    ]
