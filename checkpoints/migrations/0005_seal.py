"""Payloads are sealed; the column keeps its name and says whether it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0004_by_request"),
        ("agent_sessions", "0004_seal"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField(
                    model_name="checkpoint", old_name="payload", new_name="stored"
                ),
                migrations.AlterField(
                    model_name="checkpoint",
                    name="stored",
                    field=models.BinaryField(db_column="payload"),
                ),
            ]
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="is_sealed",
            field=models.BooleanField(default=False),
        ),
    ]
