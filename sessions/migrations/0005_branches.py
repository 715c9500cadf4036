"""Branches of a session, tombstones of what was taken back, one live run a branch."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect


class Migration(migrations.Migration):

    dependencies = [
        ('agent_sessions', '0004_seal'),
        ('tenants', '0005_recovery'),
    ]

    operations = [
        migrations.CreateModel(
            name='Branch',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('number', models.PositiveIntegerField()),
                ('origin', models.PositiveIntegerField()),
                ('at', models.BigIntegerField()),
                ('inherits', models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name='Removal',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('number', models.PositiveIntegerField()),
                ('branch', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('pop', 'Pop'), ('clear', 'Clear'), ('replace', 'Replace')], max_length=7)),
                ('first', models.BigIntegerField()),
                ('last', models.BigIntegerField()),
                ('count', models.PositiveIntegerField()),
                ('reason', models.TextField(blank=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='item',
            name='item_position_once',
        ),
        migrations.AddField(
            model_name='item',
            name='branch',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='item',
            name='fence',
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='item',
            name='removal',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='branch',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddConstraint(
            model_name='item',
            constraint=models.UniqueConstraint(fields=('tenant', 'session', 'branch', 'position'), name='item_position_once'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['running', 'paused', 'resuming', 'needs_attention'])), fields=('tenant', 'session', 'branch'), name='run_alone_on_its_branch'),
        ),
        migrations.AddField(
            model_name='branch',
            name='session',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agent_sessions.session'),
        ),
        migrations.AddField(
            model_name='branch',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddField(
            model_name='removal',
            name='session',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agent_sessions.session'),
        ),
        migrations.AddField(
            model_name='removal',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddConstraint(
            model_name='branch',
            constraint=models.UniqueConstraint(fields=('tenant', 'session', 'number'), name='branch_number_once'),
        ),
        migrations.AddConstraint(
            model_name='branch',
            constraint=models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='branch_is_not_the_trunk'),
        ),
        migrations.AddConstraint(
            model_name='removal',
            constraint=models.UniqueConstraint(fields=('tenant', 'session', 'number'), name='removal_number_once'),
        ),
        migrations.AddConstraint(
            model_name='removal',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['pop', 'clear', 'replace'])), name='removal_kind_known'),
        ),
        protect(
            "agent_sessions",
            Table(model="Branch", update=("inherits",)),
            Table(model="Removal", update=()),
        ),
        migrations.RunSQL(
            "GRANT UPDATE (removal) ON agent_sessions_item TO keyturn_app",
            migrations.RunSQL.noop,
        ),
    ]
