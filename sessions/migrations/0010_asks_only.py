"""A run that opened with a question alone says so, until somebody goes on in it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agent_sessions", "0009_artifacts")]

    operations = [
        migrations.AddField(
            "run", "asks_only", models.BooleanField(default=False, db_default=False)
        ),
        migrations.RunSQL(
            "GRANT UPDATE (asks_only) ON agent_sessions_run TO keyturn_app",
            migrations.RunSQL.noop,
        ),
    ]
