"""What the Agent Approval Protocol wants back as it came is sealed from now on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0012_erasure_owner")]

    operations = [
        *(
            migrations.RemoveField(model_name="aaprequest", name=name)
            for name in ("server", "reasoning", "context", "note")
        ),
        migrations.AddField(
            model_name="aaprequest",
            name="sealed",
            field=models.BinaryField(default=b""),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="aaprequest",
            name="sealed_note",
            field=models.BinaryField(default=b""),
        ),
        migrations.AlterField(
            model_name="aaprequest",
            name="key",
            field=models.CharField(max_length=64),
        ),
        migrations.AlterField(
            model_name="aaprequest",
            name="consume_key",
            field=models.CharField(max_length=64, null=True),
        ),
    ]
