"""Drafts of workflows."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect


class Migration(migrations.Migration):

    dependencies = [
        ('agent_sessions', '0006_retention'),
        ('tenants', '0006_data_key'),
    ]

    operations = [
        migrations.CreateModel(
            name='WorkflowDraft',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('kind', models.SlugField(max_length=63)),
                ('definition', models.JSONField(default=dict)),
                ('note', models.TextField(blank=True)),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('validated', 'Validated'), ('published', 'Published'), ('withdrawn', 'Withdrawn')], default='draft', max_length=9)),
                ('digest', models.BinaryField(max_length=32, null=True)),
                ('version', models.PositiveIntegerField(null=True)),
                ('author', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['draft', 'validated'])), fields=('tenant', 'kind'), name='workflow_draft_once'), models.CheckConstraint(condition=models.Q(('state__in', ['draft', 'validated', 'published', 'withdrawn'])), name='workflow_draft_state_known')],
            },
        ),
        protect(
            "agent_sessions",
            Table(
                model="WorkflowDraft",
                update=("definition", "note", "state", "author_id", "digest", "version"),
            ),
        ),
    ]
