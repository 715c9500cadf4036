"""Reading the log by what happened and by who did it, newest first."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0002_ledger")]

    operations = [
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                fields=["tenant_id", "kind", "seq"], name="audit_entry_kind"
            ),
        ),
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                fields=["tenant_id", "actor_id", "seq"], name="audit_entry_actor"
            ),
        ),
    ]
