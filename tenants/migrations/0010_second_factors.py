"""Second factors and devices: what the app role may do with allauth's tables for them."""

from django.db import migrations

SECOND_FACTORS = """
GRANT SELECT, INSERT, UPDATE, DELETE
  ON mfa_authenticator, usersessions_usersession TO keyturn_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO keyturn_app;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0009_key_use"),
        ("mfa", "0003_authenticator_type_uniq"),
        ("usersessions", "0001_initial"),
    ]

    operations = [migrations.RunSQL(SECOND_FACTORS, migrations.RunSQL.noop)]
