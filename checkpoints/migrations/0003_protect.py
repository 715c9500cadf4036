"""Row-level security, and rows that the app role may only add."""

from django.db import migrations

from kernel.protect import Table, protect

TOOL = ("version", "mode", "risk", "reviewed", "enabled", "definition", "digest")
EFFECT = ("state", "attempt", "external_id", "due_at", "ended_at")


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0002_initial"),
        ("agent_sessions", "0003_protect"),
    ]

    operations = [
        protect(
            "checkpoints",
            Table(model="Tool", update=TOOL, gated=()),
            Table(model="Checkpoint", update=()),
            Table(model="Effect", update=EFFECT, relay=True),
            Table(model="Attempt", update=("outcome", "evidence", "ended_at")),
        ),
    ]
