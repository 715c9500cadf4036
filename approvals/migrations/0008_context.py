"""What models were shown, and summaries made for them."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect

# The column came after its table was protected; what it names is of the same tenant.
OF_ONE_TENANT = """
ALTER TABLE approvals_request ADD FOREIGN KEY (tenant_id, context_id)
  REFERENCES approvals_context (tenant_id, id);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('agent_sessions', '0003_protect'),
        ('approvals', '0007_protect_webhooks'),
        ('tenants', '0005_recovery'),
    ]

    operations = [
        migrations.CreateModel(
            name='Context',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('digest', models.BinaryField(max_length=32)),
                ('shape', models.CharField(max_length=16)),
                ('max_tokens', models.PositiveIntegerField()),
                ('tokens', models.PositiveIntegerField()),
                ('manifest', models.JSONField()),
                ('run', tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agent_sessions.run')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
        ),
        migrations.AddField(
            model_name='request',
            name='context',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.context'),
        ),
        migrations.CreateModel(
            name='Summary',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('branch', models.PositiveIntegerField(default=0)),
                ('first', models.PositiveBigIntegerField()),
                ('last', models.PositiveBigIntegerField()),
                ('inputs', models.BinaryField(max_length=32)),
                ('method', models.CharField(max_length=100)),
                ('sealed', models.BinaryField()),
                ('session', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agent_sessions.session')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
        ),
        migrations.AddConstraint(
            model_name='context',
            constraint=models.UniqueConstraint(fields=('tenant', 'run', 'digest'), name='context_digest_once'),
        ),
        migrations.AddConstraint(
            model_name='summary',
            constraint=models.CheckConstraint(condition=models.Q(('first__lte', models.F('last'))), name='summary_covers_items'),
        ),
        protect(
            "approvals",
            Table(model="Context", update=()),
            Table(model="Summary", update=(), delete=True),
        ),
        migrations.RunSQL(OF_ONE_TENANT, migrations.RunSQL.noop),
    ]
