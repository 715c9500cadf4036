"""Approvals by one person alone, and what a second one says of them afterwards."""

import django.db.models.deletion
import tenants.models.base
from django.db import migrations, models

# The columns came after their table was protected; a member is of the same tenant.
REVIEWED = """
ALTER TABLE approvals_decision ADD FOREIGN KEY (tenant_id, reviewed_by_id)
  REFERENCES tenants_member (tenant_id, id);
GRANT UPDATE (review, reviewed_by_id, reviewed_at) ON approvals_decision TO keyturn_app;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0020_purge_own'),
        ('tenants', '0010_second_factors'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='queue',
            options={'default_permissions': (), 'permissions': [('view', 'Sees the queue and the sessions behind its requests'), ('decide', 'Decides on its requests'), ('edit_arguments', 'Edits arguments before deciding'), ('resolve', 'Records what came of actions that nothing else proves'), ('break_glass', 'Approves alone in an emergency, where policy permits it')]},
        ),
        migrations.RemoveConstraint(
            model_name='decision',
            name='decision_once_per_person',
        ),
        migrations.AddField(
            model_name='decision',
            name='broke_glass',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='decision',
            name='review',
            field=models.CharField(blank=True, choices=[('acknowledged', 'Acknowledged'), ('objected', 'Objected')], max_length=12),
        ),
        migrations.AddField(
            model_name='decision',
            name='reviewed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='decision',
            name='reviewed_by',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member'),
        ),
        migrations.AddIndex(
            model_name='decision',
            index=models.Index(condition=models.Q(('broke_glass', True)), fields=['tenant', 'created_at'], name='decision_broke_glass'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.UniqueConstraint(fields=('tenant', 'revision', 'member', 'broke_glass'), name='decision_once_per_person'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('broke_glass', False), models.Q(('member__isnull', False), ('verdict', 'approve')), _connector='OR'), name='decision_glass_is_a_persons'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('review', ''), ('reviewed_at', None), ('reviewed_by', None)), models.Q(('broke_glass', True), ('review__in', ['acknowledged', 'objected']), ('reviewed_at__isnull', False), ('reviewed_by__isnull', False), models.Q(('reviewed_by', models.F('member')), _negated=True)), _connector='OR'), name='decision_reviewed_by_another'),
        ),
        migrations.RunSQL(REVIEWED),
    ]
