from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agent_sessions', '0003_protect'),
        ('checkpoints', '0003_protect'),
        ('tenants', '0005_recovery'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='effect',
            index=models.Index(fields=['tenant', 'request'], name='effect_of_request'),
        ),
    ]
