"""Anchors: the heads of all chains, written where the database cannot reach.

A chain that is cut off at its end, or a whole database that is set back to an earlier
day, is intact in itself. What tells is that someone saw a later head. The sink is a
file, `anchors.ndjson` in the data folder; each line is signed and carries the
signature of the line before. Copy it off the machine: nothing can tell if the database
and the file are both set back to the same moment.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.conf import settings

from audit.chain import moment
from audit.keys import is_signed, signing_key, trusted_keys
from audit.queries import stored_head, tenants_with_chain
from kernel.canonical import canonical_bytes
from kernel.clock import database_now
from kernel.scope import tenant_transaction

DOMAIN = b"keyturn/anchor/v1\0"
FILE_NAME = "anchors.ndjson"


@dataclass(frozen=True, slots=True)
class Anchor:
    """The head of one tenant's chain, as it was seen at `at` (RFC 3339)."""

    tenant_id: UUID
    seq: int
    hash: bytes
    at: str


@dataclass(frozen=True, slots=True)
class Anchors:
    """What the file says: its lines up to the first that cannot be believed."""

    lines: tuple[Anchor, ...]
    flaw: str | None

    def of(self, tenant_id: UUID) -> list[Anchor]:
        return [line for line in self.lines if line.tenant_id == tenant_id]

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
    """Append every head that has moved since its last anchor; return how many.

    Reads each tenant's head in the tenant's own scope. Run it at intervals.
    """
    heads = [head for each in tenants_with_chain() if (head := _current(each))]
    with _locked(path or anchors_file()) as file:
        lines = [json.loads(line) for line in _whole_lines(file.read())]
        latest = {line["tenant"]: (line["seq"], line["hash"]) for line in lines}
        moved = [
            head
            for head in heads
            if latest.get(str(head.tenant_id)) != (head.seq, head.hash.hex())
        ]
        _append(file, moved, prev=lines[-1]["signature"] if lines else "")
    return len(moved)


def _current(tenant_id: UUID) -> Anchor | None:
    """The tenant's head now; None where it is missing, which verification reports."""
    with tenant_transaction(tenant_id):
        head = stored_head(tenant_id)
        at = moment(database_now())
    return Anchor(tenant_id, head.seq, head.hash, at) if head else None


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
        prev = key.sign(_statement(line)).hex()
        file.write(canonical_bytes({**line, "signature": prev}) + b"\n")
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """The file, ours alone, without a line that a crash left unfinished."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        file.seek(0)
        yield file


def _whole_lines(content: bytes) -> list[bytes]:
    return content[: content.rfind(b"\n") + 1].splitlines()


def _statement(line: dict[str, Any]) -> bytes:
    return DOMAIN + canonical_bytes(line)


def _anchor(said: dict[str, Any]) -> Anchor:
    return Anchor(
        UUID(said["tenant"]), said["seq"], bytes.fromhex(said["hash"]), said["at"]
    )
