"""Encryption of what is kept for others: AES-256-GCM, each text bound to its place.

A sealed text is version (1 byte) ‖ nonce (12) ‖ ciphertext and tag. What it is `bound`
to is authenticated with it: moved to another row or tenant, it does not open.
"""

import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
VERSION: Final = b"\x01"


class Unreadable(Exception):
    """The sealed bytes were changed, moved or cut, or belong to another key."""


def new_key() -> bytes:
    """32 random bytes."""
    return os.urandom(KEY_BYTES)


def seal(key: bytes, text: bytes, *, bound: bytes) -> bytes:
    """`text` so that only `key` opens it, and only as what it is `bound` to."""
    nonce = os.urandom(NONCE_BYTES)
    return VERSION + nonce + AESGCM(key).encrypt(nonce, text, VERSION + bound)


def unseal(key: bytes, sealed: bytes, *, bound: bytes) -> bytes:
    """What was sealed. Raises `Unreadable`."""
    start = len(VERSION) + NONCE_BYTES
    if sealed[: len(VERSION)] != VERSION:
        raise Unreadable("It is not sealed in a way that is known here.")
    try:
        nonce, text = sealed[len(VERSION) : start], sealed[start:]
        return AESGCM(key).decrypt(nonce, text, VERSION + bound)
    except (InvalidTag, ValueError) as error:
        raise Unreadable("It was changed, or sealed under another key.") from error


def derived_key(key: bytes, *, salt: bytes, purpose: bytes) -> bytes:
    """A key of its own, 32 bytes (HKDF with SHA-256). Without the salt it is gone."""
    return HKDF(SHA256(), KEY_BYTES, salt, purpose).derive(key)
