"""What second factors rest on (TOTP secrets, seeds of recovery codes), sealed.

A person is of no tenant, so the key is derived from a master key, which is never in the
database.
"""

from base64 import b64decode, b64encode
from typing import Final

from kernel.sealing import derived_key, seal, unseal
from tenants.master_keys import ID_BYTES, master_keys
from tenants.vault import DATA_KEY_ELSEWHERE

PURPOSE: Final = b"keyturn/second-factors/v1"


def sealed_factor(text: str) -> str:
    """`text` under the master key that wraps, as base64 with that key's id in front."""
    name, master = next(iter(master_keys().items()))
    sealed = seal(_key(name, master), text.encode(), bound=PURPOSE)
    return b64encode(name + sealed).decode()


def opened_factor(text: str) -> str:
    """What was sealed.

    Raises `data_key_elsewhere` (503) if its master key is not in the file, `Unreadable`
    if that does not open it.
    """
    sealed = b64decode(text)
    name = sealed[:ID_BYTES]
    master = master_keys().get(name)
    if master is None:
        raise DATA_KEY_ELSEWHERE(f"The master key {name.hex()} is not here.")
    return unseal(_key(name, master), sealed[ID_BYTES:], bound=PURPOSE).decode()


def is_sealed_first(text: str) -> bool:
    """Whether it is under the key that wraps now."""
    return b64decode(text)[:ID_BYTES] == next(iter(master_keys()))


def _key(name: bytes, master: bytes) -> bytes:
    return derived_key(master, salt=name, purpose=PURPOSE)
