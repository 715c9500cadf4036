"""What the audit chain says happened."""

from uuid import UUID

from audit.models import Entry
from kernel.scope import tenant_transaction


def kinds_of(tenant_id: UUID, subject_id: UUID) -> list[str]:
    """The kinds of the entries about one subject, in order."""
    with tenant_transaction(tenant_id):
        entries = Entry.objects.filter(tenant_id=tenant_id, subject_id=subject_id)
        return list(entries.order_by("seq").values_list("kind", flat=True))
