"""Check an exported audit chain, without Keyturn, Django or a database.

    python verify_export.py export.ndjson --key audit-public.pem

Needs Python 3.12 and the package `cryptography`, and shares no code with the server
that wrote the file: it says again, in its own words, what the chain has to be.

Exit code 0: intact. 1: broken, and the first bad entry is named. 2: could not check.

Keys given with --key, one or more in each file, are the only ones trusted; an operator
gets the public half with `openssl pkey -in audit.pem -pubout`. Without any, the keys in
the file are used, which proves that it is consistent but not who wrote it. --anchors takes
the server's file of them, or one tenant's copy from the audit log's page.
"""

# ruff: noqa: T201  printing is all that a stand-alone script can do

import argparse
import json
import re
import sys
from base64 import b64decode, b64encode
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
COPY_DOMAIN = b"keyturn/anchors-copy/v1\0"
PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)

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


def _check_end(file: Iterator[bytes]) -> None:
    if next(file, None) is not None:
        raise Broken("after its last line there is more")


def _anchored(path: Path, tenant: UUID, keys: Keys) -> dict[int, set[bytes]]:
    """What the anchors saw: the hashes of this tenant's chain, by seq."""
    content = path.read_bytes()
    # What a crash cut off is no anchor.
    lines = content[: content.rfind(b"\n") + 1].splitlines(keepends=True)
    alone = _is_copy(lines, tenant, keys)
    seen: dict[int, set[bytes]] = {}
    prev = ""
    for number, text in enumerate(lines[:-1] if alone else lines, start=1):
        line, signature = _anchor(number, text, keys)
        if not alone and line["prev"] != prev:  # other tenants' lie between a copy's
            raise Broken(f"anchors: line {number} is not what was written")
        if line["tenant"] == str(tenant):
            if "since" in line:  # a recovery ended: anchors of the lost past are void
                seen = {seq: each for seq, each in seen.items() if seq <= line["since"]}
            seen.setdefault(line["seq"], set()).add(bytes.fromhex(line["hash"]))
        prev = signature
    return seen


def _anchor(number: int, text: bytes, keys: Keys) -> tuple[dict[str, Any], str]:
    """What the line says, and its signature."""
    try:
        line = json.loads(text)
        signature: str = line.pop("signature")
        if _is_signed_text(line, ANCHOR_DOMAIN, line["key_id"], signature, keys):
            return line, signature
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise Broken(f"anchors: line {number} is not what was written")


def _is_copy(lines: list[bytes], tenant: UUID, keys: Keys) -> bool:
    """Whether a signed last line says that these are all of one tenant's."""
    try:
        last = json.loads(lines[-1]) if lines else {}
        if "copy" not in last:
            return False
        said, signature = last["copy"], last["signature"]
        signed = _is_signed_text(said, COPY_DOMAIN, last["key_id"], signature, keys)
    except (ValueError, KeyError, TypeError):
        signed = False
    if not signed:
        raise Broken(f"anchors: line {len(lines)} is not what was written")
    if said["tenant"] != str(tenant):
        raise Broken("anchors: they are another tenant's")
    if said["sha256"] != sha256(b"".join(lines[:-1])).hexdigest():
        raise Broken("anchors: lines were changed, or are missing")
    if not said["whole"]:
        raise Broken("anchors: the server's own file of them is not what was written")
    return True


def _is_signed_text(
    said: dict[str, Any], domain: bytes, key_id: str, signature: str, keys: Keys
) -> bool:
    """Anchors are signed over their canonical JSON."""
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    signed = {"key_id": key_id, "raw": bytes.fromhex(signature)}
    return _is_signed(signed, domain + text.encode(), keys)


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
    parser.add_argument("export", type=Path, help="the signed bundle of the log")
    parser.add_argument(
        "--key", type=Path, action="append", default=[], help="trusted keys, PEM"
    )
    parser.add_argument("--anchors", type=Path, help="a copy of anchors.ndjson")
    return parser.parse_args()


if __name__ == "__main__":
    main()
