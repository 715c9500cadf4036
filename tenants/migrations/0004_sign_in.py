"""Signing in: what the app role may do with the tables of allauth, which are global."""

from django.db import migrations

SIGN_IN = """
GRANT SELECT, INSERT, UPDATE, DELETE
  ON account_emailaddress, account_emailconfirmation TO keyturn_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO keyturn_app;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0003_solo"),
        ("account", "0009_emailaddress_unique_primary_email"),
    ]

    operations = [migrations.RunSQL(SIGN_IN, migrations.RunSQL.noop)]
