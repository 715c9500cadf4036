"""The key that signs the chain. It is in a file, and never in the database.

To rotate: move the key aside, put its public half into `<path>.pub.d/` as PEM, and
start again with a new key. Old entries stay verifiable, new ones name the new key.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

KEY_ID_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 key and the name that signatures carry."""

    id: str
    private: Ed25519PrivateKey

    def sign(self, statement: bytes) -> bytes:
        """The 64 bytes of the signature."""
        return self.private.sign(statement)


def signing_key() -> SigningKey:
    """The installation's key, read once per process.

    An embedded installation makes its own the first time; any other must be given
    one. Raises ImproperlyConfigured if it is missing, exposed or of another kind.
    """
    return _load(Path(settings.AUDIT_KEY), create=bool(settings.EMBEDDED))


def create_key(path: Path) -> None:
    """Write a new key (PEM, 0600) to `path`, unless one is there already."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(
        os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
    ) as file:
        file.write(_pem(Ed25519PrivateKey.generate()))
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # unlike a rename, it never replaces
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def trusted_keys() -> Mapping[str, Ed25519PublicKey]:
    """Every public key that may have signed, by its id: the present and former ones.

    Read anew each time, since a verification may outlive a rotation.
    """
    path = Path(settings.AUDIT_KEY)
    former = sorted(path.with_name(f"{path.name}.pub.d").glob("*.pem"))
    keys = [_public_key(file) for file in former]
    keys.append(signing_key().private.public_key())
    return MappingProxyType({key_id(key): key for key in keys})


def trusted_pem() -> bytes:
    """The same as PEM, one after the other: what the offline verifiers take."""
    return b"".join(_public_pem(key) for key in trusted_keys().values())


def key_id(public: Ed25519PublicKey) -> str:
    """The first 16 hex digits of the SHA-256 of the raw public key."""
    return sha256(raw_bytes(public)).hexdigest()[:KEY_ID_CHARACTERS]


def raw_bytes(public: Ed25519PublicKey) -> bytes:
    """The 32 bytes of a public key."""
    return public.public_bytes_raw()


def is_signed(public: Ed25519PublicKey, signature: bytes, statement: bytes) -> bool:
    """Whether the key made this signature over this statement."""
    try:
        public.verify(signature, statement)
    except InvalidSignature:
        return False
    return True


@lru_cache
def _load(path: Path, *, create: bool) -> SigningKey:
    if create and not path.exists():
        create_key(path)
    private = serialization.load_pem_private_key(_private_bytes(path), password=None)
    if not isinstance(private, Ed25519PrivateKey):
        raise ImproperlyConfigured(f"{path} is not an Ed25519 key.")
    return SigningKey(id=key_id(private.public_key()), private=private)


def _private_bytes(path: Path) -> bytes:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        raise ImproperlyConfigured(f"KEYTURN_AUDIT_KEY: no key at {path}.") from None
    if mode & 0o077:
        raise ImproperlyConfigured(f"Others may read {path}: chmod 600 it.")
    return path.read_bytes()


def _public_key(path: Path) -> Ed25519PublicKey:
    public = serialization.load_pem_public_key(path.read_bytes())
    if not isinstance(public, Ed25519PublicKey):
        raise ImproperlyConfigured(f"{path} is not an Ed25519 public key.")
    return public


def _public_pem(public: Ed25519PublicKey) -> bytes:
    return public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _pem(private: Ed25519PrivateKey) -> bytes:
    return private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
