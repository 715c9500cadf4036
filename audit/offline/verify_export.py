"""Check an exported audit chain, without Keyturn, Django or a database.

    python verify_export.py export.ndjson --key audit-public.pem

Needs Python 3.12 and the package `cryptography`, and shares no code with the server
that wrote the file: it says again, in its own words, what the chain has to be.

Exit code 0: intact. 1: broken, and the first bad entry is named. 2: could not check.

Keys given with --key are the only ones trusted; an operator gets the public half with
`openssl pkey -in audit.pem -pubout`. Without any, the keys in the file are
used, which proves that it is consistent but not who wrote it.
"""

# ruff: noqa: T201  printing is all that a stand-alone script can do

import argparse
import json
import sys
from base64 import b64decode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

FORMAT = "keyturn/audit-export/v1"
ENTRY_DOMAIN = b"keyturn/audit/v1\0"
HEAD_DOMAIN = FORMAT.encode() + b"\0"
ANCHOR_DOMAIN = b"keyturn/anchor/v1\0"

type Keys = dict[str, Ed25519PublicKey]


class Broken(Exception):
    """The chain is not whole; the message names the first bad entry and why."""


def main() -> NoReturn:
    options = _options()
    try:
        summary = check(options.export, _given(options.key), options.anchors)
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


def check(export: Path, trusted: Keys, anchors: Path | None = None) -> str:
    """Walk the file. Raises `Broken` at the first flaw; returns a summary."""
    with export.open("rb") as file:
        first = json.loads(file.readline())
        if first.get("format") != FORMAT:
            raise ValueError(f"{export} is not an audit export")
        tenant = UUID(first["tenant"])
        keys = trusted or _own_keys(first["keys"])
        seen = _anchored(anchors, tenant, keys) if anchors else {}
        seq, last = _walk(file, tenant, keys, seen)
    if max(seen, default=0) > seq:
        raise Broken(f"at entry {seq + 1}: an anchor saw {max(seen)} entries")
    return f"{tenant}: {seq:,} entries, {len(seen)} anchors, head {last.hex()[:16]}"


def _walk(
    file: Iterator[bytes], tenant: UUID, keys: Keys, anchors: dict[int, set[bytes]]
) -> tuple[int, bytes]:
    seq, prev = 0, bytes(32)
    for text in file:
        line = _read(text, seq)
        if "head" in line:
            _check_head(line, tenant, keys, seq, prev)
            if next(file, None) is not None:
                raise Broken("after its last line there is more")
            return seq, prev
        seq += 1
        try:
            prev = _check_entry(line, tenant, keys, seq, prev)
        except (ValueError, KeyError, TypeError):
            raise Broken(f"at entry {seq}: it cannot be read") from None
        if anchors.get(seq, {prev}) != {prev}:
            raise Broken(f"at entry {seq}: an anchor saw another entry here")
    raise Broken(f"at entry {seq + 1}: the file ends before its last line")


def _check_entry(
    line: dict[str, Any], tenant: UUID, keys: Keys, seq: int, prev: bytes
) -> bytes:
    """Check that this is entry `seq` after `prev`; return its hash."""
    if line["seq"] != seq:
        raise Broken(f"at entry {seq}: entry {line['seq']} is in its place")
    body = _bytes(line["body"])
    if _bytes(line["prev"]) != prev:
        raise Broken(f"at entry {seq}: it does not follow the entry before it")
    place = tenant.bytes + seq.to_bytes(8, "big") + prev
    statement = ENTRY_DOMAIN + place + sha256(body).digest()
    if sha256(statement).digest() != _bytes(line["hash"]):
        raise Broken(f"at entry {seq}: its bytes do not have this hash")
    if not _is_signed(line, statement, keys):
        raise Broken(f"at entry {seq}: it is not signed with a trusted key")
    said = json.loads(body)
    if (said["tenant"], said["seq"]) != (str(tenant), seq):
        raise Broken(f"at entry {seq}: it speaks of another place")
    return sha256(statement).digest()


def _check_head(
    line: dict[str, Any], tenant: UUID, keys: Keys, seq: int, last: bytes
) -> None:
    head = line["head"]
    if (head["seq"], _bytes(head["hash"])) != (seq, last):
        raise Broken(f"at entry {seq + 1}: the head says {head['seq']} entries")
    statement = HEAD_DOMAIN + tenant.bytes + seq.to_bytes(8, "big") + last
    if not _is_signed(line, statement, keys):
        raise Broken(f"at entry {seq + 1}: the head is not signed with a trusted key")


def _anchored(path: Path, tenant: UUID, keys: Keys) -> dict[int, set[bytes]]:
    """What the anchors saw: the hashes of this tenant's chain, by seq."""
    seen: dict[int, set[bytes]] = {}
    prev = ""
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]  # what a crash cut off is no anchor
    for number, text in enumerate(whole.splitlines(), start=1):
        line = json.loads(text)
        signature = line.pop("signature")
        statement = (
            ANCHOR_DOMAIN
            + json.dumps(
                line, sort_keys=True, separators=(",", ":"), ensure_ascii=False
            ).encode()
        )
        signed = {"key_id": line["key_id"], "raw": bytes.fromhex(signature)}
        if line["prev"] != prev or not _is_signed(signed, statement, keys):
            raise Broken(f"anchors: line {number} is not what was written")
        if line["tenant"] == str(tenant):
            if "since" in line:  # a recovery ended: anchors of the lost past are void
                seen = {seq: each for seq, each in seen.items() if seq <= line["since"]}
            seen.setdefault(line["seq"], set()).add(bytes.fromhex(line["hash"]))
        prev = signature
    return seen


def _is_signed(line: dict[str, Any], statement: bytes, keys: Keys) -> bool:
    key = keys.get(line["key_id"])
    signature = line["raw"] if "raw" in line else _bytes(line["signature"])
    try:
        if key:
            key.verify(signature, statement)
    except InvalidSignature:
        return False
    return key is not None


def _read(text: bytes, seq: int) -> dict[str, Any]:
    try:
        line = json.loads(text)
    except ValueError:
        raise Broken(f"at entry {seq + 1}: the line is not JSON") from None
    if not isinstance(line, dict):
        raise Broken(f"at entry {seq + 1}: the line is not an entry")
    return line


def _bytes(text: str) -> bytes:
    return b64decode(text, validate=True)


def _given(paths: list[Path]) -> Keys:
    keys: Keys = {}
    for path in paths:
        public = load_pem_public_key(path.read_bytes())
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
    parser.add_argument("export", type=Path, help="written by `export_audit`")
    parser.add_argument(
        "--key", type=Path, action="append", default=[], help="a trusted key, PEM"
    )
    parser.add_argument("--anchors", type=Path, help="anchors.ndjson")
    return parser.parse_args()


if __name__ == "__main__":
    main()
