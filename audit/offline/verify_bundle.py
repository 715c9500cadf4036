"""Check the bundle of one run, without Keyturn, Django or a database.

    python verify_bundle.py bundle.ndjson --key audit-public.pem

Needs Python 3.12 and the package `cryptography`, and shares no code with the server
that wrote the file: it says again, in its own words, what the file has to be.

Exit code 0: intact. 1: broken, and the line and the entry are named. 2: could not check.

Each entry is signed in its place of the chain, and the chain is followed from the first
to the last, through digests of what concerns others. Keys given with --key are the only
ones trusted; without any, the keys in the file are used, which proves that it is
consistent but not who wrote it.

Anchors that were kept elsewhere have to agree as well: --anchors takes one tenant's copy
from the audit log's page, which a signed last line ends; --server-anchors takes the
server's own file, where each line continues the one before it.
"""

# ruff: noqa: T201  printing is all that a stand-alone script can do

import argparse
import json
import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NoReturn
from uuid import UUID

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
except ImportError:
    print("Could not check: install the package `cryptography`.", file=sys.stderr)
    sys.exit(2)

FORMAT = "keyturn/run-bundle/v1"
LINE_DOMAIN = FORMAT.encode() + b"\0"
ENTRY_DOMAIN = b"keyturn/audit/v1\0"
ANCHOR_DOMAIN = b"keyturn/anchor/v1\0"
COPY_DOMAIN = b"keyturn/anchors-copy/v1\0"
COVERED = {  # what an entry's digest covers, by the kind of evidence
    "envelope": b"keyturn/approval/v1\0",
    "transition": b"keyturn/transition/v1\0",
}
POLICY_DOMAIN = b"keyturn/definition/v1\0"
PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----[^-]*-----END PUBLIC KEY-----")
PLAIN = re.compile(r"[A-Za-z0-9:.-]{1,40}")
LONGEST = 8 << 20  # bytes of a line
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, OverflowError)
ERASED = {"session.erased", "session.purged"}
LINE = re.compile(rb'(\{.*),"signed":"([A-Za-z0-9+/]{86}==)"\}\n', re.DOTALL)
NAMED = re.compile(
    rb'\{"(?:entry":\{"seq|evidence":\{"seq|links":\{"from)":([0-9]{1,15}),'
)


class Broken(Exception):
    """The file is not what was written; the message names the place and why."""


class Unchecked(Exception):
    """A file is not what it has to be for anything to be told from it."""


@dataclass(slots=True)
class Keys:
    """Whose signatures count, and whose were found."""

    trusted: dict[str, Ed25519PublicKey] = field(default_factory=dict)
    whence: str = "trusted"
    used: dict[str, None] = field(default_factory=dict)

    def signed(self, key_id: str, signature: bytes, statement: bytes) -> bool:
        """Whether that key is trusted and made this signature."""
        key = self.trusted.get(key_id)
        try:
            if key:
                key.verify(signature, statement)
        except InvalidSignature:
            return False
        if key:
            self.used[key_id] = None
        return key is not None

    @property
    def told(self) -> str:
        count = len(self.trusted)
        keys = f"{count} key{'s' * (count != 1)} {self.whence}"
        return f"{keys}; signed by {', '.join(self.used)}"


@dataclass(slots=True)
class Seen:
    """What anchors saw of the tenant's chain: the hashes at each entry.

    `at` is until when they were gathered, `count` how many lines were the tenant's.
    """

    tenant: UUID
    at: datetime | None = None
    count: int = 0
    hashes: dict[int, set[bytes]] = field(default_factory=dict)

    def take(self, line: dict[str, Any]) -> None:
        if "since" in line:  # a recovery ended: anchors of the lost past are void
            until = line["since"]
            self.hashes = {
                seq: each for seq, each in self.hashes.items() if seq <= until
            }
        if type(line["seq"]) is not int:
            raise TypeError("the number of an entry")
        self.hashes.setdefault(line["seq"], set()).add(bytes.fromhex(line["hash"]))
        self.count += 1

    @property
    def told(self) -> str:
        if self.at is None:
            return ""
        at = f"{self.at:%Y-%m-%d %H:%M:%S} UTC"
        return f"\nanchors as of {at}, {self.count} of this tenant's"


def main() -> NoReturn:
    options = _options()
    try:
        summary = check(
            options.bundle,
            _given(options.key),
            anchors=options.anchors,
            server_anchors=options.server_anchors,
        )
    except Broken as flaw:
        print(f"BROKEN {flaw}")
        sys.exit(1)
    except Unchecked as why:
        print(f"Could not check: {why}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:  # a traceback would end with the code for broken
        print(f"Could not check: {ascii(error)[:200]}", file=sys.stderr)
        sys.exit(2)
    print(f"intact {summary}")
    if not options.key:
        print("The keys came with the file: pass --key to know who signed it.")
    sys.exit(0)


def check(
    bundle: Path,
    trusted: dict[str, Ed25519PublicKey],
    *,
    anchors: Path | None = None,
    server_anchors: Path | None = None,
) -> str:
    """Read the file to its end. Raises `Broken` at the first flaw; returns a summary.

    Raises `Unchecked` where the anchors end before they should.
    """
    walk = _Walk(trusted)
    with bundle.open("rb") as file:
        for number, text in enumerate(_lines(file), start=1):
            try:
                walk.take(text)
            except Broken as flaw:
                raise Broken(f"line {number}, {walk.place(text)}: {flaw}") from None
            except UNREADABLE:
                why = "it cannot be read"
                raise Broken(f"line {number}, {walk.place(text)}: {why}") from None
    if not walk.ended:
        raise Broken(
            f"line {walk.lines + 1}, {walk.place(b'')}: the file ends before it"
        )
    if not (anchors or server_anchors):
        return walk.summary()
    seen = _anchored(walk.tenant, walk.keys, anchors, server_anchors)
    return walk.summary(f", {_agreeing(seen, walk)} of them kept elsewhere", seen)


@dataclass(slots=True)
class _Walk:
    """How far the file was followed."""

    trusted: dict[str, Ed25519PublicKey]
    keys: Keys = field(default_factory=Keys)
    head: dict[str, Any] = field(default_factory=dict)
    about: str = ""
    tenant: UUID = field(default=UUID(int=0))
    state: bytes = bytes(32)  # over all lines so far
    lines: int = 0
    seq: int = 0  # the last entry or link
    hash: bytes = b""
    waiting: list[int] = field(default_factory=list)  # entries still to come
    body: dict[str, Any] = field(default_factory=dict)
    envelope: dict[str, Any] = field(default_factory=dict)
    hashes: dict[int, bytes] = field(default_factory=dict)  # that anchors may have seen
    missing: list[int] = field(default_factory=list)  # entries with erased evidence
    erasure: int = 0
    evidence: int = 0
    anchors: int = 0
    ended: bool = False

    def take(self, text: bytes) -> None:
        """Check the next line."""
        if self.ended:
            raise Broken("after its last line there is more")
        said = LINE.fullmatch(text)
        if said is None:
            raise Broken("it is not a line of a bundle")
        content = said[1] + b"}"
        self.state = sha256(self.state + content).digest()
        line = _json(content)
        if not self.head:
            self._begin(line)
        signature, statement = _bytes(said[2].decode()), LINE_DOMAIN + self.state
        if not self.keys.signed(self.head["key_id"], signature, statement):
            self.head = self.head if self.lines else {}
            raise Broken("it is not what was written, or not signed with a trusted key")
        if self.lines:
            self._follow(line)
        self.lines += 1

    def _begin(self, line: dict[str, Any]) -> None:
        if line["format"] != FORMAT:
            raise Broken("the file is not the bundle of a run")
        self.tenant = UUID(line["tenant"])
        self.keys = _keys(self.trusted, line["keys"])
        if {type(one) for one in (line["from"], line["to"], *line["entries"])} != {int}:
            raise TypeError("numbers of entries")
        ((name, id),) = line["about"].items()
        self.about = f"{_shown(name)} {_shown(id)}"
        self.seq, self.hash = line["from"] - 1, _bytes(line["prev"])
        self.waiting = list(line["entries"])
        self.head = line

    def _follow(self, line: dict[str, Any]) -> None:
        ((kind, said),) = line.items()
        {
            "entry": self._entry,
            "evidence": self._evidence,
            "links": self._links,
            "anchor": self._anchor,
            "end": self._end,
        }[kind](said)

    def _entry(self, said: dict[str, Any]) -> None:
        if not self.waiting or said["seq"] != self.waiting[0]:
            raise Broken("another entry is due here")
        body = _bytes(said["body"])
        statement = self._step(said["seq"], sha256(body).digest())
        if _bytes(said["hash"]) != self.hash:
            raise Broken("its bytes do not have this hash, or do not follow the chain")
        signature = _bytes(said["signature"])
        if not self.keys.signed(said["key_id"], signature, statement):
            raise Broken("it is not signed with a trusted key")
        self.body = _json(body)
        if (self.body["tenant"], self.body["seq"]) != (str(self.tenant), self.seq):
            raise Broken("it speaks of another place")
        if self.body["kind"] in ERASED:
            self.erasure = self.seq
        self.waiting.pop(0)
        self.envelope = {}

    def _evidence(self, said: dict[str, Any]) -> None:
        if said["seq"] != self.seq or self.body.get("seq") != self.seq:
            raise Broken("it belongs to another entry")
        self.evidence += 1
        if said["content"] is None:
            self.missing.append(self.seq)
            return
        content = _bytes(said["content"])
        if said["kind"] == "policy":
            pinned = {one["digest"] for one in self.envelope["policies"]}
            if sha256(POLICY_DOMAIN + content).hexdigest() not in pinned:
                raise Broken("the envelope names no such policy")
            return
        digest = sha256(COVERED[said["kind"]] + content).hexdigest()
        if digest != self.body["data"]["digest"]:
            raise Broken(f"the {said['kind']} is not what the entry's digest covers")
        if said["kind"] == "envelope":
            self.envelope = _json(content)

    def _links(self, said: dict[str, Any]) -> None:
        digests = _bytes(said["digests"])
        span = range(said["from"], said["to"] + 1)
        if len(digests) != 32 * len(span) or (
            self.waiting[:1] and (self.waiting[0] <= said["to"])
        ):
            raise Broken("an entry of the run is left out")
        for place, seq in enumerate(span):
            self._step(seq, digests[32 * place : 32 * place + 32])

    def _step(self, seq: int, digest: bytes) -> bytes:
        """Go on by one; returns what the entry's signature covers."""
        if seq != self.seq + 1:
            raise Broken(f"entry {self.seq + 1} is missing")
        where = self.tenant.bytes + seq.to_bytes(8, "big") + self.hash
        statement = ENTRY_DOMAIN + where + digest
        self.seq, self.hash = seq, sha256(statement).digest()
        self.hashes[seq] = self.hash
        return statement

    def _anchor(self, said: dict[str, Any]) -> None:
        if not _is_anchor(said, self.keys):
            raise Broken("the anchor is not signed with a trusted key")
        if (said["tenant"], said["seq"]) != (str(self.tenant), self.seq):
            raise Broken("the anchor is of another place")
        if bytes.fromhex(said["hash"]) != self.hash:
            raise Broken(f"an anchor saw another entry {self.seq}")
        self.anchors += 1

    def _end(self, said: dict[str, Any]) -> None:
        if self.waiting:
            raise Broken(f"entry {self.waiting[0]} is missing")
        if (said["seq"], _bytes(said["hash"])) != (self.seq, self.hash):
            raise Broken("it ends elsewhere than the chain")
        if (said["lines"], self.seq) != (self.lines + 1, self.head["to"]):
            raise Broken("lines are missing")
        if self.missing and max(self.missing) > self.erasure:
            raise Broken(f"entry {max(self.missing)} has lost what no entry erased")
        self.ended = True

    def place(self, text: bytes) -> str:
        """What the line is about, as far as it can be told."""
        if not self.lines:
            return "the header"
        if self.ended:
            return "after the end"
        named = NAMED.match(text)
        if named and self.seq <= int(named[1]) <= self.head["to"]:
            return f"at entry {int(named[1])}"
        due = [self.waiting[0]] if self.waiting else []
        return f"at entry {min([self.seq + 1, *due]) if due else self.seq}"

    def summary(self, elsewhere: str = "", seen: Seen | None = None) -> str:
        entries = len(self.head["entries"])
        return (
            f"{self.about}: {entries:,} entries of"
            f" {self.head['from']} to {self.head['to']},"
            f" {self.evidence} pieces of evidence ({len(self.missing)} erased),"
            f" {self.anchors} anchors{elsewhere}, head {self.hash.hex()[:16]}"
            f"{seen.told if seen else ''}\n{self.keys.told}"
        )


def _agreeing(seen: Seen, walk: _Walk) -> int:
    """How many anchors are of these entries. Raises `Broken` if one does not agree."""
    within = {seq: each for seq, each in seen.hashes.items() if seq in walk.hashes}
    for seq, each in within.items():
        if each != {walk.hashes[seq]}:
            raise Broken(f"at entry {seq}: an anchor kept elsewhere saw another entry")
    return len(within)


# Classes and functions of one name are the same in both scripts, to the letter.


def _anchored(
    tenant: UUID, keys: Keys, copy: Path | None, servers: Path | None
) -> Seen:
    """What the anchors saw. Raises `Broken`, and `Unchecked` for half a file."""
    seen = Seen(tenant)
    if servers:
        _follow(servers, seen, keys)
    if copy:
        _copied(copy, seen, keys)
    return seen


def _follow(path: Path, seen: Seen, keys: Keys) -> None:
    """The server's file: each line continues the one before it, whoever's that is."""
    prev, line = "", None
    with path.open("rb") as file:
        for number, text in enumerate(_whole(file), start=1):
            line = _anchor_line(number, text)
            try:
                follows = line["prev"] == prev and _is_anchor(line, keys)
                if follows and line["tenant"] == str(seen.tenant):
                    seen.take(line)
                prev, seen.at = line["signature"], _moment(line["at"])
            except (ValueError, KeyError, TypeError, AttributeError):
                follows = False
            if not follows:
                raise Broken(f"anchors: line {number} is not what was written")
    if line is None:
        raise Unchecked("there is no anchor in the server's file")


def _copied(path: Path, seen: Seen, keys: Keys) -> None:
    """One tenant's: the last line is signed over all before it, so that none is missing."""
    digest = sha256()
    with path.open("rb") as file:
        for number, text in enumerate(_whole(file), start=1):
            line = _anchor_line(number, text)
            try:
                if "copy" in line:
                    _end_copy(line, seen, keys, digest.hexdigest())
                    _check_end(file)
                    return
                mine = line["tenant"] == str(seen.tenant)
                if mine and not _is_anchor(line, keys):
                    raise Broken(f"anchors: line {number} is not what was written")
                if mine:
                    seen.take(line)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise Broken(f"anchors: line {number} cannot be read") from None
            if not mine:
                why = "is another tenant's (the server's file is for --server-anchors)"
                raise Broken(f"anchors: line {number} {why}")
            digest.update(text)
    raise Unchecked(
        "the anchors lack the signed last line of a copy: they broke off, or are the"
        " server's own file, which is for --server-anchors"
    )


def _end_copy(line: dict[str, Any], seen: Seen, keys: Keys, digest: str) -> None:
    said, signature = line["copy"], bytes.fromhex(line["signature"])
    if not keys.signed(line["key_id"], signature, COPY_DOMAIN + _canonical(said)):
        raise Broken("anchors: the last line is not what was written")
    if said["tenant"] != str(seen.tenant):
        raise Broken("anchors: they are another tenant's")
    if (said["sha256"], said["anchors"]) != (digest, seen.count):
        raise Broken("anchors: lines were changed, or are missing")
    if said["whole"] is not True:
        raise Broken("anchors: the server's own file of them is not what was written")
    seen.at = _moment(said["at"])


def _anchor_line(number: int, text: bytes) -> dict[str, Any]:
    try:
        line = _json(text)
    except ValueError:
        line = None
    if not isinstance(line, dict):
        raise Broken(f"anchors: line {number} cannot be read")
    return line


def _is_anchor(line: dict[str, Any], keys: Keys) -> bool:
    """Whether the line is signed; over its canonical JSON."""
    said = {name: value for name, value in line.items() if name != "signature"}
    signature = bytes.fromhex(line["signature"])
    return keys.signed(said["key_id"], signature, ANCHOR_DOMAIN + _canonical(said))


def _canonical(said: dict[str, Any]) -> bytes:
    return json.dumps(
        said, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """One after the other; of one that is too long, no more than `LONGEST`."""
    return iter(partial(file.readline, LONGEST), b"")


def _whole(file: IO[bytes]) -> Iterator[bytes]:
    """The same. Raises `Unchecked` where the last one has no end."""
    for text in _lines(file):
        if not text.endswith(b"\n"):
            raise Unchecked("the anchors break off within a line: take them anew")
        yield text


def _check_end(file: IO[bytes]) -> None:
    if file.read(1):
        raise Broken("after its last line there is more")


def _json(text: bytes) -> Any:
    """Raises `ValueError`, also for a line that was not read to its end."""
    if len(text) >= LONGEST:
        raise ValueError("a line is too long")
    return json.loads(text)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _shown(value: object) -> str:
    """What a file says, with nothing in it that a terminal obeys."""
    if isinstance(value, str) and PLAIN.fullmatch(value):
        return value
    return ascii(value)[:40]


def _bytes(text: str) -> bytes:
    """Of the one base64 text that these bytes have: no bit of it says nothing."""
    value = b64decode(text, validate=True)
    if b64encode(value).decode() != text:
        raise ValueError(text)
    return value


def _given(paths: list[Path]) -> dict[str, Ed25519PublicKey]:
    keys: dict[str, Ed25519PublicKey] = {}
    for path in paths:
        content = path.read_bytes()
        for pem in PEM.findall(content) or [content]:
            public = load_pem_public_key(pem)
            if not isinstance(public, Ed25519PublicKey):
                raise ValueError(f"{path} is not an Ed25519 public key")
            keys[_key_id(public.public_bytes_raw())] = public
    return keys


def _keys(trusted: dict[str, Ed25519PublicKey], own: dict[str, str]) -> Keys:
    """Those that were given; the file's own if there are none."""
    if trusted:
        return Keys(trusted)
    raw = [_bytes(text) for text in own.values()]
    found = {_key_id(key): Ed25519PublicKey.from_public_bytes(key) for key in raw}
    return Keys(found, "in the file")


def _key_id(raw: bytes) -> str:
    return sha256(raw).hexdigest()[:16]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bundle", type=Path, help="from a run's trace page")
    parser.add_argument(
        "--key", type=Path, action="append", default=[], help="trusted keys, PEM"
    )
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--anchors", type=Path, help="a copy, from the audit log's page"
    )
    either.add_argument(
        "--server-anchors", type=Path, help="the server's own anchors.ndjson"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
