"""Delegation, snoozing, and reminding or asking others after a while."""

import django.contrib.postgres.fields
import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect

# These columns came after their tables were protected.
COLUMNS = """
ALTER TABLE approvals_decision ADD FOREIGN KEY (tenant_id, on_behalf_of_id)
  REFERENCES tenants_member (tenant_id, id);
ALTER TABLE approvals_decision ADD FOREIGN KEY (tenant_id, delegation_id)
  REFERENCES approvals_delegation (tenant_id, id);
ALTER TABLE approvals_queue ADD FOREIGN KEY (tenant_id, escalate_to_group_id)
  REFERENCES tenants_group (tenant_id, id);
ALTER TABLE approvals_queue ADD FOREIGN KEY (tenant_id, escalate_to_queue_id)
  REFERENCES approvals_queue (tenant_id, id);
GRANT UPDATE (remind_after, escalate_after, escalate_to_group_id, escalate_to_queue_id)
  ON approvals_queue TO keyturn_app;
"""
NUDGE = (
    "revision",
    "remind_at",
    "escalate_at",
    "reminded_at",
    "escalated_at",
    "asked_too",
    "due_at",
)
SNOOZE = ("until", "revision", "state", "answers")


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0023_notices'),
        ('tenants', '0011_guests'),
    ]

    operations = [
        migrations.CreateModel(
            name='Delegation',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField()),
                ('queues', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list)),
                ('note', models.TextField(blank=True)),
                ('ended_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Nudge',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('revision', models.PositiveIntegerField()),
                ('remind_at', models.DateTimeField(null=True)),
                ('escalate_at', models.DateTimeField(null=True)),
                ('reminded_at', models.DateTimeField(null=True)),
                ('escalated_at', models.DateTimeField(null=True)),
                ('asked_too', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                ('due_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Snooze',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('until', models.DateTimeField()),
                ('revision', models.PositiveIntegerField()),
                ('state', models.CharField(max_length=20)),
                ('answers', models.PositiveIntegerField()),
            ],
        ),
        migrations.AddField(
            model_name='decision',
            name='on_behalf_of',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member'),
        ),
        migrations.AddField(
            model_name='queue',
            name='escalate_after',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='queue',
            name='escalate_to_group',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.group'),
        ),
        migrations.AddField(
            model_name='queue',
            name='escalate_to_queue',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.queue'),
        ),
        migrations.AddField(
            model_name='queue',
            name='remind_after',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddConstraint(
            model_name='queue',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('escalate_after', None), ('escalate_to_group', None), ('escalate_to_queue', None)), models.Q(('escalate_after__isnull', False), models.Q(models.Q(('escalate_to_group__isnull', False), ('escalate_to_queue', None)), models.Q(('escalate_to_group', None), ('escalate_to_queue__isnull', False)), _connector='OR')), _connector='OR'), name='queue_escalates_to_one'),
        ),
        migrations.AddField(
            model_name='delegation',
            name='delegate',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member'),
        ),
        migrations.AddField(
            model_name='delegation',
            name='delegator',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member'),
        ),
        migrations.AddField(
            model_name='delegation',
            name='ended_by',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member'),
        ),
        migrations.AddField(
            model_name='delegation',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddField(
            model_name='decision',
            name='delegation',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.delegation'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.UniqueConstraint(fields=('tenant', 'revision', 'on_behalf_of'), name='decision_once_on_behalf'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('delegation', None), ('on_behalf_of', None)), models.Q(('delegation__isnull', False), ('member__isnull', False), ('on_behalf_of__isnull', False), models.Q(('on_behalf_of', models.F('member')), _negated=True)), _connector='OR'), name='decision_behalf_of_another'),
        ),
        migrations.AddField(
            model_name='nudge',
            name='request',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.request'),
        ),
        migrations.AddField(
            model_name='nudge',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddField(
            model_name='snooze',
            name='member',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member'),
        ),
        migrations.AddField(
            model_name='snooze',
            name='request',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.request'),
        ),
        migrations.AddField(
            model_name='snooze',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddIndex(
            model_name='delegation',
            index=models.Index(condition=models.Q(('ended_at', None)), fields=['tenant', 'delegate', 'ends_at'], name='delegation_of_delegate'),
        ),
        migrations.AddConstraint(
            model_name='delegation',
            constraint=models.CheckConstraint(condition=models.Q(('delegator', models.F('delegate')), _negated=True), name='delegation_to_another'),
        ),
        migrations.AddConstraint(
            model_name='delegation',
            constraint=models.CheckConstraint(condition=models.Q(('ends_at__gt', models.F('starts_at'))), name='delegation_has_time'),
        ),
        migrations.AddIndex(
            model_name='nudge',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='nudge_due'),
        ),
        migrations.AddConstraint(
            model_name='nudge',
            constraint=models.UniqueConstraint(fields=('tenant', 'request'), name='nudge_one_a_request'),
        ),
        migrations.AddConstraint(
            model_name='snooze',
            constraint=models.UniqueConstraint(fields=('tenant', 'member', 'request'), name='snooze_once_per_person'),
        ),
        protect(
            "approvals",
            Table(model="Delegation", update=("ended_at", "ended_by_id"), gated=()),
            Table(model="Snooze", update=SNOOZE, delete=True),
            Table(model="Nudge", update=NUDGE, relay=True),
        ),
        migrations.RunSQL(COLUMNS),
    ]
