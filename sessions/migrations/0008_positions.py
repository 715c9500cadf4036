"""The highest position that was ever given outlives the items, which retention removes."""

from django.db import migrations, models


def last_position() -> models.BigIntegerField:
    return models.BigIntegerField(default=0, db_default=0)


class Migration(migrations.Migration):
    dependencies = [("agent_sessions", "0007_drafts")]

    operations = [
        migrations.AddField("session", "last_position", last_position()),
        migrations.AddField("branch", "last_position", last_position()),
        migrations.RunSQL(
            "GRANT UPDATE (last_position) ON agent_sessions_session,"
            " agent_sessions_branch TO keyturn_app",
            migrations.RunSQL.noop,
        ),
    ]
