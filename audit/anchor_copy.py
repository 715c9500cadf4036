"""One tenant's anchors, to be kept away from the server: no line of another's is in them.

    {"v", "tenant", "seq", "hash", "at", "prev", "key_id", "signature"}   as in the file
    {"copy": {"tenant", "at", "anchors", "sha256", "whole"}, "key_id", "signature"}

In the file each line continues the one before it, whoever's that is, which a tenant's
lines alone cannot show. The last one stands for it: it is signed over all lines before
it, and says whether the file was whole when they were taken from it: whether every line
of it, also of others, was signed and in its place. `audit/offline/verify_export.py` takes
either.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from io import UnsupportedOperation
from itertools import takewhile
from pathlib import Path
from select import poll
from threading import Lock
from typing import IO, Any, Final
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.anchors import DOMAIN as ANCHOR_DOMAIN
from audit.anchors import anchors_file
from audit.chain import moment
from audit.keys import is_signed, signing_key, trusted_keys
from kernel.canonical import canonical_bytes
from kernel.clock import database_now

DOMAIN: Final = b"keyturn/anchors-copy/v1\0"
# What is signed is the canonical line without its signature: the same bytes, less those.
LINE: Final = re.compile(rb'(\{.*)"signature":"([0-9a-f]{128})",(.*\})\n')
BLOCK: Final = 1 << 20  # bytes that are looked through at once

type Keys = Mapping[str, Ed25519PublicKey]


def check_anchors() -> None:
    """Check what the file has got since the last time, so that a copy need not wait."""
    _checked(anchors_file()).follow()


def write_anchor_copy(tenant_id: UUID, out: IO[bytes]) -> None:
    """Write the tenant's lines as they stand in the file, and the signed last one.

    Raises `BrokenPipeError` when nobody reads it any more, whosever the lines are.
    """
    at, path = moment(database_now()), anchors_file()
    checked = _checked(path).follow()
    mine, count = b'"tenant":"%s"' % str(tenant_id).encode(), 0
    copied, everything = sha256(), sha256()
    for lines in _blocks(path, checked.size):
        _require_reader(out)
        everything.update(b"".join(lines))
        own = [line for line in lines if mine in line]
        copied.update(b"".join(own))
        count += len(own)
        out.writelines(own)
    said = {
        "tenant": str(tenant_id),
        "at": at,
        "anchors": count,
        "sha256": copied.hexdigest(),
        "whole": _checked(path).confirms(checked, everything.digest()),
    }
    out.write(_last_line(said))


@dataclass(frozen=True, slots=True)
class _Extent:
    """So many bytes of the file, with their digest, and whether each line was right."""

    size: int
    digest: bytes
    whole: bool


@dataclass(slots=True)
class _Checked:
    """How far the file was checked, each line once, and what came of it.

    What was checked may be rewritten where it stands: that is why its digest is kept,
    and compared with that of what is copied.
    """

    path: Path
    _size: int = 0
    _whole: bool = True
    _prev: str = ""
    _state: Any = field(default_factory=sha256)
    _of: object = None
    _lock: Lock = field(default_factory=Lock)

    def follow(self) -> _Extent:
        """Go on to the last line that has an end."""
        with self._lock:
            try:
                return self._followed()
            except FileNotFoundError:
                return _Extent(0, sha256().digest(), whole=True)

    def _followed(self) -> _Extent:
        with self.path.open("rb") as file:
            keys = trusted_keys()
            self._begin_anew_if_another(os.fstat(file.fileno()), keys)
            self._read_on(file, keys)
        return _Extent(self._size, self._state.digest(), self._whole)

    def confirms(self, checked: _Extent, digest: bytes) -> bool:
        """Whether these are the bytes that were checked, and were found whole.

        If they are others, the next one has them all checked again.
        """
        if digest != checked.digest:
            with self._lock:
                self._of = None
        return checked.whole and digest == checked.digest

    def _begin_anew_if_another(self, now: os.stat_result, keys: Keys) -> None:
        """Another file, a shorter one, or others who may have signed it."""
        of = (now.st_ino, frozenset(keys))
        if of != self._of or now.st_size < self._size:
            self._size, self._whole, self._prev = 0, True, ""
            self._state, self._of = sha256(), of

    def _read_on(self, file: IO[bytes], keys: Keys) -> None:
        file.seek(self._size)
        for line in takewhile(_has_end, file):  # it may be written to at this moment
            self._whole = self._whole and self._follows(line, keys)
            self._state.update(line)
            self._size += len(line)

    def _follows(self, text: bytes, keys: Keys) -> bool:
        """Whether the line is signed, and continues the one before it."""
        found = LINE.fullmatch(text)
        if found is None:
            return False
        statement, signature = ANCHOR_DOMAIN + found[1] + found[3], found[2].decode()
        try:
            line = json.loads(text)
            key, follows = keys[line["key_id"]], line["prev"] == self._prev
        except (ValueError, KeyError, TypeError):
            return False
        self._prev = signature
        return follows and is_signed(key, bytes.fromhex(signature), statement)


@cache
def _checked(path: Path) -> _Checked:
    return _Checked(path)


def _has_end(line: bytes) -> bool:
    return line.endswith(b"\n")


def _blocks(path: Path, size: int) -> Iterator[list[bytes]]:
    """The lines of the first `size` bytes, some at a time: the file grows for ever."""
    if not size:
        return
    with path.open("rb") as file:
        # It stops at the line that makes it more than so many bytes.
        while size > 0 and (lines := file.readlines(max(1, min(BLOCK, size) - 1))):
            yield lines
            size -= sum(map(len, lines))


def _require_reader(out: IO[bytes]) -> None:
    """A pipe says that its reader went, also to a writer that writes nothing for long.

    Raises `BrokenPipeError` then.
    """
    with suppress(UnsupportedOperation):  # memory is no pipe
        end = poll()
        end.register(out.fileno(), 0)
        if end.poll(0):
            raise BrokenPipeError


def _last_line(said: dict[str, Any]) -> bytes:
    key = signing_key()
    signature = key.sign(DOMAIN + canonical_bytes(said)).hex()
    line = {"copy": said, "key_id": key.id, "signature": signature}
    return canonical_bytes(line) + b"\n"
