"""What the chain has about one thing, in a file that anyone can check: NDJSON.

    {"format", "tenant", "about", "at", "keys", "entries", "from", "to", "prev"}
    {"entry": {"seq", "body", "hash", "signature", "key_id"}}   one that concerns it
    {"evidence": {"seq", "kind", "content"}}   what the digest in that entry covers
    {"links": {"from", "to", "digests"}}       what lies between, as digests alone
    {"anchor": {…}}                            a line of the anchors' file
    {"end": {"seq", "hash", "lines"}}

Entries that concern something else are told by the SHA-256 of their body: enough to
follow the chain from the first entry to the last, and on to an anchor that saw it, and
too little to read. Each line ends in `"signed"`, over itself and all lines before it.
`audit/offline/verify_bundle.py` checks it, without Django.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final
from uuid import UUID

from audit.anchors import anchored_lines
from audit.chain import GENESIS, moment
from audit.keys import raw_bytes, signing_key, trusted_keys
from audit.queries import Link, chain_snapshot, stored_hash, stored_head, stored_links
from kernel.clock import database_now
from kernel.strict_json import parse

FORMAT: Final = "keyturn/run-bundle/v1"
LINKS_A_LINE: Final = 1_000

type Evidence = Iterable[tuple[str, bytes | None]]
"""Kind and bytes of what an entry commits to; None for what was erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """`entries` are the numbers of those that concern `about`, rising, not none.

    `evidence` is asked for each, with what its signed body says, in the same snapshot.
    """

    about: Mapping[str, str]
    entries: Sequence[int]
    evidence: Callable[[Mapping[str, Any]], Evidence]


def write_bundle(tenant_id: UUID, find: Callable[[], Wanted], out: IO[bytes]) -> None:
    """Write what `find` wants; it is called inside the tenant's snapshot."""
    with chain_snapshot(tenant_id):
        wanted = find()
        lines = _Lines(out)
        for line in _content(tenant_id, wanted):
            lines.write(line)


class _Lines:
    """Signs each line, in its place after all lines before it."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out, self._key, self._state = out, signing_key(), bytes(32)
        self._count = 0

    def write(self, line: dict[str, Any]) -> None:
        if "end" in line:
            line["end"]["lines"] = self._count + 1
        text = json.dumps(line, separators=(",", ":")).encode()
        self._state = hashlib.sha256(self._state + text).digest()
        signature = self._key.sign(FORMAT.encode() + b"\0" + self._state)
        self._out.write(text[:-1] + b',"signed":"' + b64encode(signature) + b'"}\n')
        self._count += 1


def _content(tenant_id: UUID, wanted: Wanted) -> Iterator[dict[str, Any]]:
    first, last = wanted.entries[0], wanted.entries[-1]
    anchors = anchored_lines(tenant_id, since=first)
    seen = [seq for seq in anchors if seq >= last]
    head = stored_head(tenant_id)
    end = min(seen) if seen else head.seq if head else last
    yield _header(tenant_id, wanted, end)
    between: list[Link] = []
    link: Link | None = None
    for link in stored_links(tenant_id, first, end, whole=wanted.entries):
        if link.body is None:
            between.append(link)
        if between and (
            link.body is not None or link.seq in anchors or len(between) == LINKS_A_LINE
        ):
            yield _between(between)
            between = []
        if link.body is not None:
            yield from _entry(link, wanted)
        if link.seq in anchors:
            yield {"anchor": anchors[link.seq]}
    if between:
        yield _between(between)
    assert link is not None
    yield {"end": {"seq": link.seq, "hash": _text(link.hash)}}


def _header(tenant_id: UUID, wanted: Wanted, end: int) -> dict[str, Any]:
    first = wanted.entries[0]
    before = stored_hash(tenant_id, first - 1) if first > 1 else GENESIS
    return {
        "format": FORMAT,
        "tenant": str(tenant_id),
        "about": dict(wanted.about),
        "at": moment(database_now()),
        "keys": {name: _text(raw_bytes(key)) for name, key in trusted_keys().items()},
        "key_id": signing_key().id,
        "entries": list(wanted.entries),
        "from": first,
        "to": end,
        "prev": _text(before or GENESIS),
    }


def _entry(link: Link, wanted: Wanted) -> Iterator[dict[str, Any]]:
    assert link.body is not None
    yield {
        "entry": {
            "seq": link.seq,
            "body": _text(link.body),
            "hash": _text(link.hash),
            "signature": _text(link.signature),
            "key_id": link.key_id,
        }
    }
    body = parse(link.body)
    assert isinstance(body, dict)
    for kind, content in wanted.evidence(body):
        text = None if content is None else _text(content)
        yield {"evidence": {"seq": link.seq, "kind": kind, "content": text}}


def _between(links: Sequence[Link]) -> dict[str, Any]:
    digests = b"".join(link.digest for link in links)
    return {
        "links": {
            "from": links[0].seq,
            "to": links[-1].seq,
            "digests": _text(digests),
        }
    }


def _text(value: bytes) -> str:
    return b64encode(value).decode()
