"""Check an exported audit chain, without Keyturn, Django or a database.

    python verify_export.py export.ndjson --key audit-public.pem

Needs Python 3.12 and the package `cryptography`, and shares no code with the server
that wrote the file: it says again, in its own words, what the chain has to be.

Exit code 0: intact. 1: broken, and the first bad entry is named. 2: could not check.

Keys given with --key, one or more in each file, are the only ones trusted; an operator
gets the public half with `openssl pkey -in audit.pem -pubout`. Without any, the keys in
the file are used, which proves that it is consistent but not who wrote it.

--anchors takes one tenant's copy from the audit log's page, which a signed last line ends;
--server-anchors takes the server's own file, where each line continues the one before it.
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

FORMAT = "keyturn/audit-export/v1"
ENTRY_DOMAIN = b"keyturn/audit/v1\0"
HEAD_DOMAIN = FORMAT.encode() + b"\0"
ANCHOR_DOMAIN = b"keyturn/anchor/v1\0"
COPY_DOMAIN = b"keyturn/anchors-copy/v1\0"
PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----[^-]*-----END PUBLIC KEY-----")
PLAIN = re.compile(r"[A-Za-z0-9:.-]{1,40}")
LONGEST = 8 << 20  # bytes of a line


class Broken(Exception):
    """The chain is not whole; the message names the first bad entry and why."""


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
            options.export,
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
    export: Path,
    trusted: dict[str, Ed25519PublicKey],
    *,
    anchors: Path | None = None,
    server_anchors: Path | None = None,
) -> str:
    """Walk the file. Raises `Broken` at the first flaw; returns a summary.

    Raises `Unchecked` where a file is no export, or ends before its anchors do.
    """
    with export.open("rb") as file:
        first = _json(file.readline(LONGEST))
        if first.get("format") != FORMAT:
            raise Unchecked("the file is not an audit export")
        tenant = UUID(first["tenant"])
        keys = _keys(trusted, first["keys"])
        seen = _anchored(tenant, keys, anchors, server_anchors)
        seq, last = _walk(file, tenant, keys, seen.hashes)
    if max(seen.hashes, default=0) > seq:
        raise Broken(
            f"at entry {seq + 1}: an anchor saw {_shown(max(seen.hashes))} entries"
        )
    told = f"{seq:,} entries, {len(seen.hashes)} anchors, head {last.hex()[:16]}"
    return f"{tenant}: {told}{seen.told}\n{keys.told}"


def _walk(
    file: IO[bytes], tenant: UUID, keys: Keys, anchors: dict[int, set[bytes]]
) -> tuple[int, bytes]:
    seq, prev = 0, bytes(32)
    for text in _lines(file):
        line = _read(text, seq)
        try:
            if "head" in line:
                _check_head(line, tenant, keys, seq, prev)
                _check_end(file)
                return seq, prev
            prev = _check_entry(line, tenant, keys, seq + 1, prev)
        except (ValueError, KeyError, TypeError):
            raise Broken(f"at entry {seq + 1}: it cannot be read") from None
        seq += 1
        if anchors.get(seq, {prev}) != {prev}:
            raise Broken(f"at entry {seq}: an anchor saw another entry here")
    raise Broken(f"at entry {seq + 1}: the file ends before its last line")


def _check_entry(
    line: dict[str, Any], tenant: UUID, keys: Keys, seq: int, prev: bytes
) -> bytes:
    """Check that this is entry `seq` after `prev`; return its hash."""
    if line["seq"] != seq:
        raise Broken(f"at entry {seq}: entry {_shown(line['seq'])} is in its place")
    body = _bytes(line["body"])
    if _bytes(line["prev"]) != prev:
        raise Broken(f"at entry {seq}: it does not follow the entry before it")
    place = tenant.bytes + seq.to_bytes(8, "big") + prev
    statement = ENTRY_DOMAIN + place + sha256(body).digest()
    if sha256(statement).digest() != _bytes(line["hash"]):
        raise Broken(f"at entry {seq}: its bytes do not have this hash")
    if not keys.signed(line["key_id"], _bytes(line["signature"]), statement):
        raise Broken(f"at entry {seq}: it is not signed with a trusted key")
    said = _json(body)
    if (said["tenant"], said["seq"]) != (str(tenant), seq):
        raise Broken(f"at entry {seq}: it speaks of another place")
    return sha256(statement).digest()


def _check_head(
    line: dict[str, Any], tenant: UUID, keys: Keys, seq: int, last: bytes
) -> None:
    head = line["head"]
    if (head["seq"], _bytes(head["hash"])) != (seq, last):
        raise Broken(f"at entry {seq + 1}: the head says {_shown(head['seq'])} entries")
    statement = HEAD_DOMAIN + tenant.bytes + seq.to_bytes(8, "big") + last
    if not keys.signed(line["key_id"], _bytes(line["signature"]), statement):
        raise Broken(f"at entry {seq + 1}: the head is not signed with a trusted key")


def _read(text: bytes, seq: int) -> dict[str, Any]:
    try:
        line = _json(text)
    except ValueError:
        raise Broken(f"at entry {seq + 1}: the line is not JSON") from None
    if not isinstance(line, dict):
        raise Broken(f"at entry {seq + 1}: the line is not an entry")
    return line


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
    parser.add_argument("export", type=Path, help="the signed bundle of the log")
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
