"""Items are sealed under a key of their session, of which its row has the salt."""

from django.db import migrations, models

import kernel.sealing

# Each session that is there already gets a salt of its own, whatever row security says.
SALT = """
ALTER TABLE agent_sessions_session ADD COLUMN salt bytea NOT NULL
  DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
ALTER TABLE agent_sessions_session ALTER COLUMN salt DROP DEFAULT;
GRANT UPDATE (salt) ON agent_sessions_session TO keyturn_app;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0003_protect"),
        ("tenants", "0006_data_key"),
    ]

    operations = [
        migrations.RunSQL(
            SALT,
            state_operations=[
                migrations.AddField(
                    model_name="session",
                    name="salt",
                    field=models.BinaryField(default=kernel.sealing.new_key),
                )
            ],
        ),
        migrations.AddField(
            model_name="item", name="sealed", field=models.BinaryField(null=True)
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField(
                    model_name="item", old_name="raw", new_name="legacy"
                ),
                migrations.AlterField(
                    model_name="item",
                    name="legacy",
                    field=models.TextField(db_column="raw", default=""),
                ),
            ]
        ),
    ]
