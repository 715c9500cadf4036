"""A tenant whose database was set back waits for an operator."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0004_sign_in")]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="recovering_since",
            field=models.DateTimeField(null=True),
        ),
        migrations.RunSQL(
            "GRANT UPDATE (recovering_since) ON tenants_tenant TO keyturn_app",
            migrations.RunSQL.noop,
        ),
    ]
