"""Drafts of policies."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0014_purge_all'),
        ('tenants', '0008_second_admin'),
    ]

    operations = [
        migrations.CreateModel(
            name='PolicyDraft',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('name', models.SlugField(max_length=100)),
                ('definition', models.JSONField(null=True)),
                ('digest', models.BinaryField(max_length=32)),
                ('note', models.TextField(blank=True)),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('published', 'Published'), ('withdrawn', 'Withdrawn')], default='draft', max_length=9)),
                ('revision', models.PositiveIntegerField(null=True)),
                ('author', tenants.models.base.TenantForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'draft')), fields=('tenant', 'name'), name='policy_draft_once'), models.CheckConstraint(condition=models.Q(('state__in', ['draft', 'published', 'withdrawn'])), name='policy_draft_state_known')],
            },
        ),
        protect(
            "approvals",
            Table(
                model="PolicyDraft",
                update=("definition", "digest", "note", "state", "author_id", "revision"),
            ),
        ),
    ]
