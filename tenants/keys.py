"""The text of an API key, pure: `kt_<environment>_<prefix>_<secret><checksum>`.

The prefix comes from the key's id and is no secret: it names the key in lists and
logs. The checksum lets a typing error, or a scanner's guess, fail before any query.
Only the SHA-256 digest of the whole text is ever stored.
"""

import hashlib
import re
import secrets
import zlib
from dataclasses import dataclass
from typing import Final
from uuid import UUID

ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
PREFIX_LENGTH: Final = 7
PREFIX_BITS: Final = 40
SECRET_LENGTH: Final = 30  # 178 bits: out of reach, and so a fast hash is enough
CHECKSUM_LENGTH: Final = 6
ENVIRONMENT: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")

_KEY = re.compile(
    rf"kt_({ENVIRONMENT.pattern})_([0-9A-Za-z]{{{PREFIX_LENGTH}}})"
    rf"_[0-9A-Za-z]{{{SECRET_LENGTH}}}([0-9A-Za-z]{{{CHECKSUM_LENGTH}}})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyText:
    """A well-formed key: what may be shown of it, and the digest that finds it."""

    environment: str
    prefix: str
    hash: bytes


def issue(*, key_id: UUID, environment: str) -> str:
    """Make the text of a new key. This is the only time that it exists.

    Raises ValueError if `environment` is not 1 to 32 of a-z, 0-9 and inner hyphens.
    """
    if not ENVIRONMENT.fullmatch(environment):
        raise ValueError(f"{environment!r} cannot be part of a key")
    secret = "".join(secrets.choice(ALPHABET) for _ in range(SECRET_LENGTH))
    body = f"kt_{environment}_{prefix_of(key_id)}_{secret}"
    return body + _checksum(body)


def parse(text: str) -> KeyText | None:
    """Read a key, or None if it cannot be one: wrong form or wrong checksum."""
    match = _KEY.fullmatch(text)
    if match is None or _checksum(text[:-CHECKSUM_LENGTH]) != match[3]:
        return None
    return KeyText(environment=match[1], prefix=match[2], hash=digest_of(text))


def prefix_of(key_id: UUID) -> str:
    """The seven characters that name a key, from the random end of its id."""
    return _base62(key_id.int % 2**PREFIX_BITS, PREFIX_LENGTH)


def digest_of(text: str) -> bytes:
    """What is stored in a key's place, 32 bytes."""
    return hashlib.sha256(text.encode()).digest()


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = ""
    for _ in range(length):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits
