"""Who was shown which revision, and when."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0018_remarks'),
        ('tenants', '0008_second_admin'),
    ]

    operations = [
        migrations.CreateModel(
            name='Sight',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('last_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp())),
                ('member', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member')),
                ('request', tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.request')),
                ('revision', tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.revision')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'request', 'created_at'], name='sight_of_request')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'revision', 'member'), name='sight_once_per_person')],
            },
        ),
        protect("approvals", Table(model="Sight", update=("last_at",))),
    ]
