"""Finding an action by what it is known as outside."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0008_status_digest")]

    operations = [
        migrations.AddIndex(
            model_name="effect",
            index=models.Index(
                condition=models.Q(("external_id", ""), _negated=True),
                fields=["tenant", "external_id"],
                name="effect_known_outside",
            ),
        ),
    ]
