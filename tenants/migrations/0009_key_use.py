"""When each key was last used, beside the key and not on it."""

import django.db.models.deletion
from django.db import migrations, models

import kernel.clock
import kernel.ids
import tenants.models.base
from kernel.protect import Table, protect


class Migration(migrations.Migration):
    dependencies = [("tenants", "0008_second_admin")]

    operations = [
        migrations.CreateModel(
            name="KeyUse",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=kernel.ids.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=kernel.clock.ClockTimestamp(), editable=False
                    ),
                ),
                (
                    "last_at",
                    models.DateTimeField(db_default=kernel.clock.ClockTimestamp()),
                ),
                (
                    "key",
                    tenants.models.base.TenantForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.apikey",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "key"), name="key_use_once"
                    )
                ],
            },
        ),
        protect("tenants", Table(model="KeyUse", update=("last_at",))),
    ]
