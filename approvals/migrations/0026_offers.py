"""Offers that were dismissed."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0025_standing'),
        ('tenants', '0011_guests'),
    ]

    operations = [
        migrations.CreateModel(
            name='OfferDismissal',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('digest', models.BinaryField(max_length=32)),
                ('member', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'digest'), name='offer_dismissed_once')],
            },
        ),
        protect("approvals", Table(model="OfferDismissal", update=())),
    ]
