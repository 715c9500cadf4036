"""Anchors: the heads of all chains, written where the database cannot reach.

A chain that is cut off at its end, or a whole database that is set back to an earlier
day, is intact in itself. What tells is that someone saw a later head. The sink is a
file, `anchors.ndjson` in the data folder; each line is signed and carries the
signature of the line before. Copy it off the machine: nothing can tell if the database
and the file are both set back to the same moment.

After a backup was restored, the operator ends the recovery with a line that says since
which entry the chain has another past; anchors of the lost one then count no more.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO, Any
from uuid import UUID

from django.conf import settings

from audit.chain import GENESIS, moment
from audit.keys import is_signed, signing_key, trusted_keys
from audit.queries import (
    StoredHead,
    stored_hash,
    stored_head,
    tenants_with_chain,
)
from kernel.canonical import canonical_bytes
from kernel.clock import database_now
from kernel.scope import tenant_transaction

DOMAIN = b"keyturn/anchor/v1\0"
FILE_NAME = "anchors.ndjson"
LONGEST_LINE = 1024  # bytes; a line has some 450
NEWEST = 5  # anchors of each chain that are remembered, for those who look


@dataclass(frozen=True, slots=True)
class Anchor:
    """The head of one tenant's chain, as it was seen at `at` (RFC 3339).

    `since` is set where a recovery ended: the last entry that both pasts share.
    """

    tenant_id: UUID
    seq: int
    hash: bytes
    at: str
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Anchors:
    """What the file says: its lines up to the first that cannot be believed."""

    lines: tuple[Anchor, ...]
    flaw: str | None

    def of(self, tenant_id: UUID) -> list[Anchor]:
        """The anchors that the tenant's chain must agree with."""
        found: list[Anchor] = []
        for line in self.lines:
            if line.tenant_id == tenant_id:
                found = _with(found, line)
        return found

    @property
    def tenants(self) -> set[UUID]:
        return {line.tenant_id for line in self.lines}


def anchors_file() -> Path:
    """Where the anchors are kept."""
    return Path(settings.DATA_DIR) / FILE_NAME


def read_anchors(path: Path) -> Anchors:
    """Read and check the file; a missing one is empty.

    A last line that has no end was never finished, and is no anchor.
    """
    if not path.exists():
        return Anchors((), None)
    keys, lines, prev = trusted_keys(), list[Anchor](), ""
    for number, line in enumerate(_whole_lines(path.read_bytes()), start=1):
        try:
            said = json.loads(line)
            signature = bytes.fromhex(said.pop("signature"))
            signed = is_signed(keys[said["key_id"]], signature, _statement(said))
            if not signed or said["prev"] != prev:
                return Anchors(tuple(lines), f"line {number} is not what was written")
            lines.append(_anchor(said))
        except (ValueError, KeyError, TypeError, AttributeError):
            return Anchors(tuple(lines), f"line {number} is not an anchor")
        prev = signature.hex()
    return Anchors(tuple(lines), None)


def anchor(path: Path | None = None) -> int:
    """Append every head that has moved on since its last anchor; return how many.

    Reads each tenant's head in the tenant's own scope. Run it at intervals. A chain
    that does not hold its last anchor any more gets none until its recovery ends.
    """
    place = path or anchors_file()
    heads = [head for each in tenants_with_chain() if (head := _current(each, place))]
    with _locked(place) as file:
        moved = [head for head in heads if _has_moved(head, place)]
        _append(file, moved, prev=_last_signature(file))
    return len(moved)


def _has_moved(head: Anchor, path: Path) -> bool:
    last = _followed(path).last(head.tenant_id)
    return last is None or head.seq > last.seq


def is_set_back(tenant_id: UUID, path: Path | None = None) -> bool:
    """Whether the chain lacks what its last anchor saw. Inside the tenant's scope.

    So it is when a backup was restored, whatever has been appended since. It costs a
    look at one row: what the file says is remembered, and read on when it has grown.
    """
    last = _followed(path or anchors_file()).last(tenant_id)
    return last is not None and stored_hash(tenant_id, last.seq) != last.hash


def newest_anchors(tenant_id: UUID, path: Path | None = None) -> Sequence[Anchor]:
    """The last `NEWEST` of the tenant's anchors, oldest first, whatever the file's length.

    For looking at: that they are what was written, `read_anchors` proves.
    """
    return _followed(path or anchors_file()).newest(tenant_id)


def tenants_set_back(path: Path | None = None) -> list[UUID]:
    """Every tenant whose chain is set back; each is read in its own scope."""
    file = path or anchors_file()
    return [each for each in _followed(file).tenants() if _set_back(each, file)]


def anchored_lines(
    tenant_id: UUID, *, since: int, path: Path | None = None
) -> dict[int, dict[str, Any]]:
    """The tenant's lines that still count, from entry `since` on, as they are written.

    Their signatures are whoever's to check who is shown them.
    """
    file, found = path or anchors_file(), dict[int, dict[str, Any]]()
    mine = str(tenant_id).encode()
    for text in _whole_lines(file.read_bytes()) if file.exists() else ():
        if mine not in text:
            continue
        line = json.loads(text)
        if "since" in line:  # what the lost past held is void
            found = {seq: each for seq, each in found.items() if seq <= line["since"]}
        found[line["seq"]] = line
    return {seq: each for seq, each in found.items() if seq >= since}


def anchor_recovered(tenant_id: UUID, path: Path | None = None) -> Anchor:
    """Anchor the head as it is, on another past; anchors of the lost one are void."""
    place = path or anchors_file()
    with _locked(place) as file:
        head = _recovered(tenant_id, read_anchors(place).of(tenant_id))
        _append(file, [head], prev=_last_signature(file))
    return head


def _set_back(tenant_id: UUID, path: Path) -> bool:
    with tenant_transaction(tenant_id):
        return is_set_back(tenant_id, path)


def _recovered(tenant_id: UUID, anchors: Sequence[Anchor]) -> Anchor:
    with tenant_transaction(tenant_id):
        head = stored_head(tenant_id) or StoredHead(0, GENESIS)
        shared = (
            each.seq
            for each in reversed(anchors)
            if stored_hash(tenant_id, each.seq) == each.hash
        )
        at, since = moment(database_now()), next(shared, 0)
    return Anchor(tenant_id, head.seq, head.hash, at, since)


@dataclass(slots=True)
class _Followed:
    """The last anchors of each tenant, kept up with a file that only grows.

    Signatures are not looked at: what a forged line could do here is to stop actions.
    """

    path: Path
    _last: dict[UUID, list[Anchor]] = field(default_factory=dict)
    _inode: int = 0
    _read: int = 0
    _lock: Lock = field(default_factory=Lock)

    def last(self, tenant_id: UUID) -> Anchor | None:
        return next(reversed(self.newest(tenant_id)), None)

    def newest(self, tenant_id: UUID) -> list[Anchor]:
        with self._lock:
            self._follow()
            return list(self._last.get(tenant_id, ()))

    def tenants(self) -> list[UUID]:
        with self._lock:
            self._follow()
            return sorted(self._last)

    def _follow(self) -> None:
        try:
            now = self.path.stat()
        except FileNotFoundError:
            self._last, self._inode, self._read = {}, 0, 0
            return
        if now.st_ino != self._inode or now.st_size < self._read:
            self._last, self._inode, self._read = {}, now.st_ino, 0
        if now.st_size > self._read:
            self._read_on()

    def _read_on(self) -> None:
        with self.path.open("rb") as file:
            file.seek(self._read)
            content = file.read()
        self._read += content.rfind(b"\n") + 1
        for line in _whole_lines(content):
            with suppress(ValueError, KeyError, TypeError):
                found = _anchor(json.loads(line))
                before = self._last.get(found.tenant_id, [])
                self._last[found.tenant_id] = _with(before, found)[-NEWEST:]


@cache
def _followed(path: Path) -> _Followed:
    return _Followed(path)


def _current(tenant_id: UUID, path: Path) -> Anchor | None:
    """The tenant's head now; None where it is missing or set back."""
    with tenant_transaction(tenant_id):
        head = stored_head(tenant_id)
        if head is None or is_set_back(tenant_id, path):
            return None
        return Anchor(tenant_id, head.seq, head.hash, moment(database_now()))


def _append(file: IO[bytes], heads: Sequence[Anchor], *, prev: str) -> None:
    key = signing_key()
    for head in heads:
        line = {
            "v": 1,
            "tenant": str(head.tenant_id),
            "seq": head.seq,
            "hash": head.hash.hex(),
            "at": head.at,
            "prev": prev,
            "key_id": key.id,
        }
        if head.since is not None:
            line["since"] = head.since
        prev = key.sign(_statement(line)).hex()
        file.write(canonical_bytes({**line, "signature": prev}) + b"\n")
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """The file's end, ours alone, without a line that a crash left unfinished."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        ending = _ending(file)
        file.truncate(file.tell() - len(ending) + ending.rfind(b"\n") + 1)
        file.seek(0, os.SEEK_END)
        yield file


def _ending(file: IO[bytes]) -> bytes:
    """The last bytes of the file, with at least one whole line if there is one."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - 2 * LONGEST_LINE))
    return file.read()


def _last_signature(file: IO[bytes]) -> str:
    """What the next line continues; the file is left at its end."""
    lines = _whole_lines(_ending(file))
    return str(json.loads(lines[-1])["signature"]) if lines else ""


def _with(anchors: list[Anchor], last: Anchor) -> list[Anchor]:
    """Where a recovery ended, those of the lost past count no more."""
    if last.since is not None:
        anchors = [each for each in anchors if each.seq <= last.since]
    return [*anchors, last]


def _whole_lines(content: bytes) -> list[bytes]:
    return content[: content.rfind(b"\n") + 1].splitlines()


def _statement(line: dict[str, Any]) -> bytes:
    return DOMAIN + canonical_bytes(line)


def _anchor(said: dict[str, Any]) -> Anchor:
    return Anchor(
        UUID(said["tenant"]),
        said["seq"],
        bytes.fromhex(said["hash"]),
        said["at"],
        said.get("since"),
    )
