"""Named selections of the list: each person's own, and everybody's."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0021_break_glass'),
        ('tenants', '0010_second_factors'),
    ]

    operations = [
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('name', models.CharField(max_length=60)),
                ('query', models.CharField(blank=True, max_length=1000)),
                ('default', models.BooleanField(default=False)),
                ('owner', tenants.models.base.TenantForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'owner', 'name'), name='saved_view_name_once'), models.UniqueConstraint(condition=models.Q(('owner', None)), fields=('tenant', 'name'), name='saved_view_shared_name_once'), models.UniqueConstraint(condition=models.Q(('default', True)), fields=('tenant', 'owner'), name='saved_view_one_default'), models.UniqueConstraint(condition=models.Q(('default', True), ('owner', None)), fields=('tenant',), name='saved_view_one_shared_default')],
            },
        ),
        migrations.AddIndex(
            model_name='request',
            index=models.Index(condition=models.Q(('state__in', ['approved', 'consumed'])), fields=['tenant', 'agent', 'tool', 'created_at'], name='request_agreed'),
        ),
        protect(
            "approvals",
            Table(model="SavedView", update=("name", "default"), delete=True),
        ),
    ]
