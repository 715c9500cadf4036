import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect


class Migration(migrations.Migration):

    dependencies = [
        ('agent_sessions', '0003_protect'),
        ('checkpoints', '0005_seal'),
        ('tenants', '0005_recovery'),
    ]

    operations = [
        migrations.CreateModel(
            name='Fork',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('number', models.PositiveIntegerField()),
                ('reason', models.TextField(blank=True)),
                ('checkpoint', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='checkpoints.checkpoint')),
                ('run', tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agent_sessions.run')),
                ('source', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agent_sessions.run')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'run'), name='fork_once_per_run'), models.CheckConstraint(condition=models.Q(('run', models.F('source')), _negated=True), name='fork_of_another_run')],
            },
        ),
        migrations.CreateModel(
            name='RestoreReport',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('number', models.PositiveIntegerField()),
                ('door', models.CharField(choices=[('read', 'Read'), ('fork', 'Fork')], max_length=8)),
                ('fence', models.BigIntegerField()),
                ('code', models.CharField(blank=True, max_length=64)),
                ('found', models.PositiveIntegerField()),
                ('returned', models.PositiveIntegerField()),
                ('report', models.JSONField()),
                ('run', tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agent_sessions.run')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'run', 'number', 'fence', 'door', 'code', 'returned'), name='restore_report_once_per_writer')],
            },
        ),
        protect(
            "checkpoints",
            Table(model="RestoreReport", update=()),
            Table(model="Fork", update=()),
        ),
    ]
