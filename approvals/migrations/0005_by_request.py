from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0004_resolve'),
        ('tenants', '0005_recovery'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='grant',
            index=models.Index(fields=['tenant', 'request'], name='grant_of_request'),
        ),
    ]
