"""What a signature once proved, it proves of those very bytes alone."""

from uuid import UUID

import pytest

from audit.evidence import is_genuine
from audit.keys import trusted_keys
from audit.models import Entry
from kernel.scope import tenant_transaction
from tests.audit.conftest import Chain, Superuser


def believed(tenant_id: UUID) -> bool:
    with tenant_transaction(tenant_id):
        row = Entry.objects.get(tenant_id=tenant_id)
    return is_genuine(row, trusted_keys())


@pytest.mark.parametrize(
    "altered", [{"body": b"{}"}, {"prev": bytes(31) + b"x"}, {"signature": bytes(64)}]
)
def test_an_entry_that_was_believed_is_not_once_it_is_altered(
    tenant_id: UUID, append: Chain, superuser: Superuser, altered: dict[str, bytes]
) -> None:
    (entry,) = append(1)
    assert believed(tenant_id)
    superuser.change(tenant_id, entry.seq, **altered)
    assert not believed(tenant_id)
