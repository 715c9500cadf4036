"""Days are counted anew: what is counted of each has become more."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("oversight", "0003_tallies")]

    operations = [
        migrations.RunSQL("TRUNCATE oversight_tally", migrations.RunSQL.noop),
    ]
