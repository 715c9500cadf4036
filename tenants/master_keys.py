"""The keys that wrap the tenants' keys. They are in a file, never in the database.

The file (mode 0600) has one key a line, 32 bytes in base64. The first one wraps; the
others still open what they wrapped, until `manage.py rotate_data_keys` wrapped it anew.
"""

import base64
import binascii
import os
import stat
from collections.abc import Mapping
from functools import lru_cache
from glob import escape
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from types import MappingProxyType
from typing import Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from kernel.sealing import KEY_BYTES, new_key

ID_BYTES: Final = 8


def master_keys() -> Mapping[bytes, bytes]:
    """The keys by their ids, the one that wraps first.

    An embedded installation makes its own the first time; any other must be given
    one. Raises ImproperlyConfigured if they are missing, exposed or malformed.
    """
    path = Path(settings.DATA_KEYS)
    if settings.EMBEDDED and not path.exists():
        create_master_key(path)
    try:
        state = path.stat()
    except FileNotFoundError:
        raise ImproperlyConfigured(f"KEYTURN_DATA_KEYS: no file {path}.") from None
    if stat.S_IMODE(state.st_mode) & 0o077:
        raise ImproperlyConfigured(f"Others may read {path}: chmod 600 it.")
    # Read again when it was replaced, so that a rotation stops nobody.
    return _read(path, state.st_ino, state.st_mtime_ns)


def key_id(key: bytes) -> bytes:
    """The first 8 bytes of the key's SHA-256: they name it and tell nothing of it."""
    return sha256(key).digest()[:ID_BYTES]


def create_master_key(path: Path) -> None:
    """Write a file with one new key to `path`, unless one is there already."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = _draft(path, [new_key()])
    try:
        os.link(draft, path)  # unlike a rename, it never replaces
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def add_master_key(path: Path) -> None:
    """Put a new key in front of those that are in the file."""
    os.replace(_draft(path, [new_key(), *master_keys().values()]), path)


def keep_first_key(path: Path) -> None:
    """Forget all keys but the one that wraps. What only they open is lost.

    Drafts that a crash left behind hold them too, and go.
    """
    os.replace(_draft(path, [next(iter(master_keys().values()))]), path)
    for draft in path.parent.glob(f".{escape(path.name)}.*"):
        draft.unlink(missing_ok=True)


def _draft(path: Path, keys: list[bytes]) -> Path:
    """A new file beside it, mode 0600, with these keys."""
    number, draft = mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with open(number, "wb") as file:
        file.write(b"".join(base64.b64encode(key) + b"\n" for key in keys))
        os.fsync(number)
    return Path(draft)


@lru_cache(maxsize=4)
def _read(path: Path, inode: int, modified: int) -> Mapping[bytes, bytes]:
    try:
        lines = path.read_bytes().split()
        keys = [base64.b64decode(line, validate=True) for line in lines]
    except binascii.Error:
        keys = []
    if not keys or any(len(key) != KEY_BYTES for key in keys):
        raise ImproperlyConfigured(f"{path}: each line is 32 bytes in base64.")
    return MappingProxyType({key_id(key): key for key in keys})
