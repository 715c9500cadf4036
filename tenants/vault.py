"""A tenant's data key: made at its first use, opened for each, destroyed for good."""

from typing import Final
from uuid import UUID

from kernel.problems import declare
from kernel.sealing import derived_key, new_key, seal, unseal
from kernel.update import update_exactly_one
from tenants.master_keys import ID_BYTES, master_keys
from tenants.models import DataKey

DATA_ERASED: Final = declare(
    "data_erased", status=410, title="This was erased; nobody can read it any more"
)
DATA_KEY_ELSEWHERE: Final = declare(
    "data_key_elsewhere",
    status=503,
    title="The key that opens this is not on this machine",
)


def tenant_key(tenant_id: UUID) -> bytes:
    """The tenant's data key, 32 bytes; made if there is none. Inside its scope.

    Raises `data_erased` (410) once it was destroyed, `data_key_elsewhere` (503) if its
    master key is not in the file, `Unreadable` if that does not open it.
    """
    wrapped = _wrapped(tenant_id)
    return opened(tenant_id, _made(tenant_id) if wrapped is None else wrapped)


def opened(tenant_id: UUID, wrapped: bytes) -> bytes:
    """The key inside `DataKey.wrapped`. Raises as `tenant_key`."""
    if not wrapped:
        raise DATA_ERASED()
    master = master_keys().get(wrapped[:ID_BYTES])
    if master is None:
        detail = f"The master key {wrapped[:ID_BYTES].hex()} is not here."
        raise DATA_KEY_ELSEWHERE(detail)
    return unseal(master, wrapped[ID_BYTES:], bound=_place(tenant_id))


def purpose_key(tenant_id: UUID, purpose: str) -> bytes:
    """A key of the tenant's for one purpose only, such as fingerprints."""
    name = f"keyturn/{purpose}/v1".encode()
    return derived_key(tenant_key(tenant_id), salt=tenant_id.bytes, purpose=name)


def rewrap(tenant_id: UUID) -> bool:
    """Wrap the tenant's key under the first master key; whether it was under another."""
    wrapped = _wrapped(tenant_id)
    if not wrapped or wrapped[:ID_BYTES] == next(iter(master_keys())):
        return False
    fresh = _wrap(tenant_id, opened(tenant_id, wrapped))
    update_exactly_one(
        DataKey.objects.filter(tenant_id=tenant_id, wrapped=wrapped), wrapped=fresh
    )
    return True


def destroy(tenant_id: UUID) -> None:
    """Forget the tenant's key. Nothing that was sealed under it opens ever again."""
    _made(tenant_id)
    update_exactly_one(DataKey.objects.filter(tenant_id=tenant_id), wrapped=b"")


def _wrapped(tenant_id: UUID) -> bytes | None:
    rows = DataKey.objects.filter(tenant_id=tenant_id).values_list("wrapped", flat=True)
    wrapped = rows.first()
    return None if wrapped is None else bytes(wrapped)


def _made(tenant_id: UUID) -> bytes:
    """Whoever comes second waits for the first, and uses that one's key."""
    fresh = DataKey(tenant_id=tenant_id, wrapped=_wrap(tenant_id, new_key()))
    DataKey.objects.bulk_create([fresh], ignore_conflicts=True)
    wrapped = _wrapped(tenant_id)
    assert wrapped is not None
    return wrapped


def _wrap(tenant_id: UUID, key: bytes) -> bytes:
    name, master = next(iter(master_keys().items()))
    return name + seal(master, key, bound=_place(tenant_id))


def _place(tenant_id: UUID) -> bytes:
    return b"keyturn/tenant-key/v1\0" + tenant_id.bytes
