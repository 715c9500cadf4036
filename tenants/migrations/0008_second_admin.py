"""A tenant may ask for a second admin where a policy is published."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0007_secret_patterns")]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="second_admin",
            field=models.BooleanField(default=False),
        ),
        migrations.RunSQL(
            "GRANT UPDATE (second_admin) ON tenants_tenant TO keyturn_app",
            migrations.RunSQL.noop,
        ),
    ]
