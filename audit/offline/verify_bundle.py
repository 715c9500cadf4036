"""Check the bundle of one run, without Keyturn, Django or a database.

    python verify_bundle.py bundle.ndjson --key audit-public.pem

Needs Python 3.12 and the package `cryptography`, and shares no code with the server
that wrote the file: it says again, in its own words, what the file has to be.

Exit code 0: intact. 1: broken, and the line and the entry are named. 2: could not check.

Each entry is signed in its place of the chain, and the chain is followed from the first
to the last, through digests of what concerns others. Keys given with --key are the only
ones trusted; without any, the keys in the file are used, which proves that it is
consistent but not who wrote it. With --anchors, a copy of the anchors that was kept
elsewhere has to agree as well.
"""

# ruff: noqa: T201  printing is all that a stand-alone script can do

import argparse
import json
import re
import sys
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

FORMAT = "keyturn/run-bundle/v1"
LINE_DOMAIN = FORMAT.encode() + b"\0"
ENTRY_DOMAIN = b"keyturn/audit/v1\0"
ANCHOR_DOMAIN = b"keyturn/anchor/v1\0"
COVERED = {  # what an entry's digest covers, by the kind of evidence
    "envelope": b"keyturn/approval/v1\0",
    "transition": b"keyturn/transition/v1\0",
}
POLICY_DOMAIN = b"keyturn/definition/v1\0"
PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)
ERASED = {"session.erased", "session.purged"}
LINE = re.compile(rb'(\{.*),"signed":"([A-Za-z0-9+/]{86}==)"\}\n', re.DOTALL)
NAMED = re.compile(
    rb'\{"(?:entry":\{"seq|evidence":\{"seq|links":\{"from)":([0-9]{1,15}),'
)

type Keys = dict[str, Ed25519PublicKey]


class Broken(Exception):
    """The file is not what was written; the message names the place and why."""


def main() -> NoReturn:
    options = _options()
    try:
        summary = check(options.bundle, _given(options.key), options.anchors)
    except Broken as flaw:
        print(f"BROKEN {flaw}")
        sys.exit(1)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"Could not check: {error!r}", file=sys.stderr)
        sys.exit(2)
    print(f"intact {summary}")
    if not options.key:
        print("The keys came with the file: pass --key to know who signed it.")
    sys.exit(0)


def check(bundle: Path, trusted: Keys, anchors: Path | None = None) -> str:
    """Read the file to its end. Raises `Broken` at the first flaw; returns a summary."""
    walk = _Walk(trusted)
    with bundle.open("rb") as file:
        for number, text in enumerate(file, start=1):
            try:
                walk.take(text)
            except Broken as flaw:
                raise Broken(f"line {number}, {walk.place(text)}: {flaw}") from None
            except (ValueError, KeyError, TypeError, AttributeError, IndexError):
                why = "it cannot be read"
                raise Broken(f"line {number}, {walk.place(text)}: {why}") from None
    if not walk.ended:
        raise Broken(
            f"line {walk.lines + 1}, {walk.place(b'')}: the file ends before it"
        )
    return walk.summary(_kept(anchors, walk) if anchors else None)


@dataclass(slots=True)
class _Walk:
    """How far the file was followed."""

    trusted: Keys
    keys: Keys = field(default_factory=dict)
    head: dict[str, Any] = field(default_factory=dict)
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
        line = json.loads(content)
        if not self.head:
            self._begin(line)
        key = self.keys.get(self.head["key_id"])
        signature = _bytes(said[2].decode())
        if not _is_signed(key, signature, LINE_DOMAIN + self.state):
            self.head = self.head if self.lines else {}
            raise Broken("it is not what was written, or not signed with a trusted key")
        if self.lines:
            self._follow(line)
        self.lines += 1

    def _begin(self, line: dict[str, Any]) -> None:
        if line["format"] != FORMAT:
            raise Broken("the file is not the bundle of a run")
        self.tenant = UUID(line["tenant"])
        self.keys = self.trusted or _own_keys(line["keys"])
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
        key = self.keys.get(said["key_id"])
        if not _is_signed(key, _bytes(said["signature"]), statement):
            raise Broken("it is not signed with a trusted key")
        self.body = json.loads(body)
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
            self.envelope = json.loads(content)

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
        _check_anchor(said, self.keys)
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

    def summary(self, kept: int | None) -> str:
        about = " ".join(f"{name} {id}" for name, id in self.head["about"].items())
        entries = len(self.head["entries"])
        elsewhere = "" if kept is None else f", {kept} of them kept elsewhere"
        return (
            f"{about}: {entries:,} entries of {self.head['from']} to {self.head['to']},"
            f" {self.evidence} pieces of evidence ({len(self.missing)} erased),"
            f" {self.anchors} anchors{elsewhere}, head {self.hash.hex()[:16]}"
        )


def _kept(path: Path, walk: _Walk) -> int:
    """How many anchors of the copy agree. Raises `Broken` if one does not."""
    seen: dict[int, str] = {}
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]  # what a crash cut off is no anchor
    for number, text in enumerate(whole.splitlines(), start=1):
        line = json.loads(text)
        if "copy" in line or line["tenant"] != str(walk.tenant):
            continue  # the end of one tenant's copy, or a line of another's
        try:
            _check_anchor(line, walk.keys)
        except Broken as flaw:
            raise Broken(f"anchors: line {number}: {flaw}") from None
        if "since" in line:  # a recovery ended: anchors of the lost past are void
            seen = {seq: each for seq, each in seen.items() if seq <= line["since"]}
        seen[line["seq"]] = line["hash"]
    within = {seq: each for seq, each in seen.items() if seq in walk.hashes}
    for seq, each in within.items():
        if bytes.fromhex(each) != walk.hashes[seq]:
            raise Broken(f"at entry {seq}: an anchor kept elsewhere saw another entry")
    return len(within)


def _check_anchor(line: dict[str, Any], keys: Keys) -> None:
    said = {name: value for name, value in line.items() if name != "signature"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    signature = bytes.fromhex(line["signature"])
    if not _is_signed(
        keys.get(said["key_id"]), signature, ANCHOR_DOMAIN + text.encode()
    ):
        raise Broken("the anchor is not signed with a trusted key")


def _is_signed(
    key: Ed25519PublicKey | None, signature: bytes, statement: bytes
) -> bool:
    try:
        if key:
            key.verify(signature, statement)
    except InvalidSignature:
        return False
    return key is not None


def _bytes(text: str) -> bytes:
    """Of the one base64 text that these bytes have: no bit of it says nothing."""
    value = b64decode(text, validate=True)
    if b64encode(value).decode() != text:
        raise ValueError(text)
    return value


def _given(paths: list[Path]) -> Keys:
    keys: Keys = {}
    for path in paths:
        content = path.read_bytes()
        for pem in PEM.findall(content) or [content]:
            public = load_pem_public_key(pem)
            if not isinstance(public, Ed25519PublicKey):
                raise ValueError(f"{path} is not an Ed25519 public key")
            keys[_key_id(public.public_bytes_raw())] = public
    return keys


def _own_keys(texts: dict[str, str]) -> Keys:
    raw = [_bytes(text) for text in texts.values()]
    return {_key_id(key): Ed25519PublicKey.from_public_bytes(key) for key in raw}


def _key_id(raw: bytes) -> str:
    return sha256(raw).hexdigest()[:16]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bundle", type=Path, help="from a run's trace page")
    parser.add_argument(
        "--key", type=Path, action="append", default=[], help="trusted keys, PEM"
    )
    parser.add_argument("--anchors", type=Path, help="a copy of anchors.ndjson")
    return parser.parse_args()


if __name__ == "__main__":
    main()
