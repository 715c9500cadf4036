"""Files of sessions; what is under a legal hold the database itself keeps."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect

KEEP = """
CREATE FUNCTION keyturn_keep_artifact() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.removed_at IS NULL
    AND EXISTS (SELECT FROM public.agent_sessions_hold WHERE lifted_at IS NULL
                AND (session_id = OLD.session_id OR session_id IS NULL))
    AND EXISTS (SELECT FROM public.agent_sessions_session
                WHERE id = OLD.session_id AND erased_at IS NULL)
  THEN
    RAISE EXCEPTION 'the artifact is under a legal hold'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER keep BEFORE DELETE OR UPDATE OF removed_at ON agent_sessions_artifact
  FOR EACH ROW EXECUTE FUNCTION keyturn_keep_artifact();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('agent_sessions', '0008_positions'),
        ('tenants', '0007_secret_patterns'),
    ]

    operations = [
        migrations.CreateModel(
            name='Artifact',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('sha256', models.BinaryField(max_length=32)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('media_type', models.CharField(max_length=63)),
                ('size', models.PositiveIntegerField()),
                ('expires_at', models.DateTimeField()),
                ('removed_at', models.DateTimeField(null=True)),
                ('agent', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.agent')),
                ('session', tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agent_sessions.session')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'expires_at'], name='artifact_expiry'), models.Index(fields=['tenant', 'session', 'created_at'], name='artifact_newest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('removed_at', None)), fields=('tenant', 'session', 'sha256'), name='artifact_once_per_session'), models.CheckConstraint(condition=models.Q(('size__gte', 1)), name='artifact_is_not_empty')],
            },
        ),
        protect(
            "agent_sessions",
            Table(model="Artifact", update=("expires_at", "removed_at"), delete=True),
        ),
        migrations.RunSQL(KEEP),
    ]
