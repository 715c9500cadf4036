"""A key for each tenant, wrapped by one that the database never has."""

import django.db.models.deletion
from django.db import migrations, models

import kernel.clock
import kernel.ids
from kernel.protect import Table, protect


class Migration(migrations.Migration):
    dependencies = [("tenants", "0005_recovery")]

    operations = [
        migrations.CreateModel(
            name="DataKey",
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
                ("wrapped", models.BinaryField()),
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
        ),
        migrations.AddConstraint(
            model_name="datakey",
            constraint=models.UniqueConstraint(
                fields=("tenant",), name="data_key_per_tenant"
            ),
        ),
        protect("tenants", Table(model="DataKey", update=("wrapped",))),
    ]
