"""Row-level security, and rows that the app role may only add."""

from django.db import migrations

from kernel.protect import Table, protect

RUN = (
    "state",
    "stage",
    "fence",
    "lease_holder",
    "due_at",
    "version",
    "head_number",
    "head_digest",
    "reason",
    "result",
    "ended_at",
)
FACT = (
    "value",
    "provenance",
    "reference",
    "evidence_digest",
    "version",
    "observed_at",
)


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0002_initial"),
        ("tenants", "0002_protect"),
    ]

    operations = [
        protect(
            "agent_sessions",
            Table(model="Session", update=("title",)),
            Table(model="Item", update=()),
            Table(model="Workflow", update=(), gated=()),
            Table(model="Run", update=RUN, relay=True),
            Table(model="Fact", update=FACT),
            Table(model="Transition", update=()),
        ),
    ]
