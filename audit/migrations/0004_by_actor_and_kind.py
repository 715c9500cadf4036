"""Reading the log by what one actor did of a kind, however much of either there is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0003_by_kind_and_actor")]

    operations = [
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                fields=["tenant_id", "actor_id", "kind", "seq"],
                name="audit_entry_actor_kind",
            ),
        ),
    ]
