"""Row-level security for what the Agent Approval Protocol adds."""

from django.db import migrations

from kernel.protect import Table, protect


class Migration(migrations.Migration):
    dependencies = [("approvals", "0010_aap")]

    operations = [
        protect(
            "approvals",
            Table(
                model="AAPRequest",
                update=("consume_key", "outcome", "note", "reported_at"),
            ),
        ),
    ]
