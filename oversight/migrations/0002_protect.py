"""Row-level security for verifications; what they found never changes."""

from django.db import migrations

from kernel.protect import Table, protect

FOUND = (
    "state",
    "done",
    "total",
    "heard_at",
    "ended_at",
    "head_seq",
    "anchors",
    "seconds",
    "flaw_seq",
    "flaw_reason",
    "flaw_detail",
)


class Migration(migrations.Migration):
    dependencies = [("oversight", "0001_verification")]

    operations = [protect("oversight", Table(model="Verification", update=FOUND))]
