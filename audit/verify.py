"""Is the chain whole? What `verify_audit` answers, and any code that has to know.

The walk believes nothing that the database says about itself: every hash is computed,
every signature checked against keys from files, every anchor compared, and the columns
that people query are compared with the bytes that were signed.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from time import perf_counter
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.anchors import Anchor
from audit.chain import GENESIS, link, moment, preimage
from audit.keys import is_signed, trusted_keys
from audit.queries import (
    Copy,
    Evidence,
    StoredHead,
    chain_snapshot,
    stored_entries,
    stored_evidence,
    stored_head,
)

PROGRESS_EVERY = 1_000
Progress = Callable[[int, int], None]
"""Called with how many entries were checked and how many the head promises."""


class Reason(StrEnum):
    """What is wrong with an entry."""

    GAP = "gap"
    ORDER = "order"
    HASH = "hash"
    KEY = "key"
    SIGNATURE = "signature"
    COPY = "copy"
    HEAD = "head"
    ANCHOR = "anchor"


@dataclass(frozen=True, slots=True)
class Flaw:
    """The first thing wrong: at which entry, of which sort, and in words."""

    seq: int
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The answer for one tenant. `entries` were intact before any flaw."""

    tenant_id: UUID
    entries: int
    head_seq: int
    head_hash: bytes
    anchors: int
    signatures_checked: bool
    seconds: float
    flaw: Flaw | None

    @property
    def intact(self) -> bool:
        return self.flaw is None

    @property
    def entries_per_second(self) -> float:
        return self.entries / self.seconds if self.seconds else 0.0


def verify_tenant(
    tenant_id: UUID,
    *,
    anchors: Sequence[Anchor] = (),
    fast: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Walk the tenant's chain from its first entry to its head.

    `anchors` are those of this tenant. `fast` computes the hashes only: it finds
    damage, but not a chain that was re-hashed by someone without the key.
    """
    started = perf_counter()
    keys = {} if fast else trusted_keys()
    walk = _Walk(tenant_id, anchors=_by_seq(anchors))
    with chain_snapshot(tenant_id):
        head = stored_head(tenant_id)
        rows = _bare(tenant_id) if fast else stored_entries(tenant_id)
        flaw = _first_flaw(walk, rows, keys, head, progress)
    return Report(
        tenant_id=tenant_id,
        entries=walk.seq,
        head_seq=head.seq if head else 0,
        head_hash=head.hash if head else GENESIS,
        anchors=len(anchors),
        signatures_checked=not fast,
        seconds=perf_counter() - started,
        flaw=flaw,
    )


@dataclass(slots=True)
class _Walk:
    """How far the chain was followed: the last good entry and its hash."""

    tenant_id: UUID
    anchors: Mapping[int, Sequence[Anchor]]
    seq: int = 0
    hash: bytes = field(default=GENESIS)

    def follow(self, entry: Evidence) -> Flaw | None:
        """Take one step, unless the entry does not continue the chain."""
        expected = self.seq + 1
        if entry.seq != expected:
            return _misplaced(entry.seq, expected)
        if entry.prev != self.hash:
            detail = "it does not follow the entry before it"
            return Flaw(expected, Reason.ORDER, detail)
        if link(self.statement(entry)) != entry.hash:
            detail = "its bytes do not have the hash that was stored with them"
            return Flaw(expected, Reason.HASH, detail)
        self.seq, self.hash = entry.seq, entry.hash
        return None

    def statement(self, entry: Evidence) -> bytes:
        return preimage(
            tenant_id=self.tenant_id,
            seq=entry.seq,
            prev=entry.prev,
            body=entry.body,
        )

    def off_anchor(self) -> Flaw | None:
        """Whether an anchor saw another entry in this place."""
        for anchor in self.anchors.get(self.seq, ()):
            if anchor.hash != self.hash:
                detail = f"the anchor of {anchor.at} saw another entry here"
                return Flaw(self.seq, Reason.ANCHOR, detail)
        return None

    def arrive(self, head: StoredHead | None) -> Flaw | None:
        """Whether the chain ends where the head and the anchors say."""
        seen = StoredHead(self.seq, self.hash)
        last = max(self.anchors, default=0)
        if head is None and self.seq:
            return Flaw(self.seq, Reason.HEAD, "the head of the chain is missing")
        if head and head.seq != self.seq:
            detail = f"the head says {head.seq} entries, there are {self.seq}"
            return Flaw(min(head.seq, self.seq) + 1, Reason.HEAD, detail)
        if head and head != seen:
            return Flaw(self.seq, Reason.HEAD, "the head has another hash")
        if last > self.seq:
            detail = (
                f"{self.seq} entries are left of the {last} that the anchor of"
                f" {self.anchors[last][0].at} saw"
            )
            return Flaw(self.seq + 1, Reason.ANCHOR, detail)
        return None


def _first_flaw(
    walk: _Walk,
    rows: Iterator[tuple[Evidence, Copy | None]],
    keys: Mapping[str, Ed25519PublicKey],
    head: StoredHead | None,
    progress: Progress | None,
) -> Flaw | None:
    total = head.seq if head else 0
    for entry, copy in rows:
        flaw = walk.follow(entry)
        if copy is not None:
            flaw = flaw or _unsigned(walk, entry, keys) or _unlike(walk, entry, copy)
        flaw = flaw or walk.off_anchor()
        if flaw:
            walk.seq = min(walk.seq, flaw.seq - 1)
            return flaw
        if progress and entry.seq % PROGRESS_EVERY == 0:
            progress(entry.seq, total)
    if progress:
        progress(walk.seq, total)
    return walk.arrive(head)


def _misplaced(seq: int, expected: int) -> Flaw:
    if seq > expected:
        missing = f"entry {expected} is missing"
        if seq - 1 > expected:
            missing = f"entries {expected} to {seq - 1} are missing"
        return Flaw(expected, Reason.GAP, missing)
    return Flaw(expected, Reason.ORDER, f"entry {seq} is there more than once")


def _unsigned(
    walk: _Walk, entry: Evidence, keys: Mapping[str, Ed25519PublicKey]
) -> Flaw | None:
    key = keys.get(entry.key_id)
    if key is None:
        detail = f"it is signed with key {entry.key_id}, which is not trusted"
        return Flaw(entry.seq, Reason.KEY, detail)
    if not is_signed(key, entry.signature, walk.statement(entry)):
        detail = "its signature was not made with the installation's key"
        return Flaw(entry.seq, Reason.SIGNATURE, detail)
    return None


def _unlike(walk: _Walk, entry: Evidence, copy: Copy) -> Flaw | None:
    """Whether a column says anything else than the signed bytes."""
    try:
        said = _said(json.loads(entry.body))
    except (ValueError, KeyError, TypeError):
        return Flaw(entry.seq, Reason.COPY, "its bytes are not an entry's")
    stored = _stored(walk.tenant_id, entry.seq, copy)
    for column, value in said.items():
        if stored[column] != value:
            detail = f"the column {column} does not say what was signed"
            return Flaw(entry.seq, Reason.COPY, detail)
    return None


def _said(body: dict[str, Any]) -> dict[str, Any]:
    """What the columns ought to be, by what was signed."""
    actor, subject = body["actor"], body["subject"]
    return {
        "tenant_id": body["tenant"],
        "seq": body["seq"],
        "id": body["id"],
        "at": body["at"],
        "kind": body["kind"],
        "actor_type": actor["type"],
        "actor_id": actor["id"],
        "subject_type": subject["type"],
        "subject_id": subject["id"],
        "data": _sorted(body["data"]),
    }


def _stored(tenant_id: UUID, seq: int, copy: Copy) -> dict[str, Any]:
    return {
        **copy._asdict(),
        "tenant_id": str(tenant_id),
        "seq": seq,
        "id": str(copy.id),
        "at": moment(copy.at),
        "subject_id": str(copy.subject_id) if copy.subject_id else None,
        "data": _sorted(json.loads(copy.data)),
    }


def _sorted(value: object) -> str:
    # As text, since Python says True == 1. Both sides were read by the same parser.
    return json.dumps(value, sort_keys=True)


def _bare(tenant_id: UUID) -> Iterator[tuple[Evidence, None]]:
    return ((entry, None) for entry in stored_evidence(tenant_id))


def _by_seq(anchors: Sequence[Anchor]) -> Mapping[int, Sequence[Anchor]]:
    placed: defaultdict[int, list[Anchor]] = defaultdict(list)
    for anchor in anchors:
        placed[anchor.seq].append(anchor)
    return placed
