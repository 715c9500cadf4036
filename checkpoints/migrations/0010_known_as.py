"""Finding an action by what it is known as outside, however it is spelt."""

from django.db import migrations, models
from django.db.models.functions import Upper

from checkpoints.models.effect import Computed


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0009_known_outside")]

    operations = [
        migrations.AddField(
            model_name="effect",
            name="known_as",
            field=Computed(
                db_persist=True,
                expression=Upper("external_id"),
                output_field=models.TextField(),
            ),
        ),
        migrations.RemoveIndex("effect", "effect_known_outside"),
        migrations.AddIndex(
            model_name="effect",
            index=models.Index(
                condition=models.Q(("known_as", ""), _negated=True),
                fields=["tenant", "known_as"],
                name="effect_known_outside",
            ),
        ),
    ]
