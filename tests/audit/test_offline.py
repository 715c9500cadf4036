"""Whatever a file holds: the verifiers print no word of it raw, and end by their codes."""

import ast
import json
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from audit import offline
from audit.export import export_chain
from audit.keys import signing_key, trusted_pem
from audit.offline.verify_bundle import _given as given_to_the_other
from audit.offline.verify_export import LONGEST, _given
from tests.audit.conftest import Chain

FOLDER = Path(offline.__path__[0])
HOSTILE = "\x1b[2K\rintact\x1b[8m\u202e" + "x" * 100_000
DEEP = b"[" * 200_000 + b"\n"
# What only one of them does; `Broken` is said in each one's words.
OWN = {"main", "check", "_options", "Broken"}


@pytest.fixture
def export(tenant_id: UUID, append: Chain, tmp_path: Path) -> Path:
    append(3)
    path = tmp_path / "export.ndjson"
    with path.open("wb") as out:
        export_chain(tenant_id, out)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key.pem"
    path.write_bytes(trusted_pem())
    return path


def run(script: str, *arguments: object) -> tuple[int, str]:
    """The exit code, and all that a terminal would be sent."""
    done = subprocess.run(
        [sys.executable, "-I", FOLDER / script, *map(str, arguments)],
        env={},
        capture_output=True,
    )
    return done.returncode, (done.stdout + done.stderr).decode()


def verified(*arguments: object) -> tuple[int, str]:
    return run("verify_export.py", *arguments)


def quiet(said: str) -> bool:
    """No more than some lines of what can be read."""
    return len(said) < 1_000 and all(" " <= one <= "~" or one == "\n" for one in said)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write(path: Path, said: list[Any]) -> None:
    path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in said))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda said: said[2].update(seq=HOSTILE),
        lambda said: said[2].update(seq=[HOSTILE]),
        lambda said: said[2].update(key_id=HOSTILE),
        lambda said: said[2].update(body=HOSTILE),
        lambda said: said[-1]["head"].update(seq=HOSTILE),
        lambda said: said[-1].update(key_id=HOSTILE),
        lambda said: said[0].update(tenant=HOSTILE),
        lambda said: said[0].update(format=HOSTILE),
        lambda said: said[0].update(keys={HOSTILE: HOSTILE}),
        lambda said: said[0].pop("tenant"),
        lambda said: said.insert(0, [HOSTILE]),
        lambda said: said.insert(0, HOSTILE),
    ],
)
@pytest.mark.parametrize("trusts", [True, False])
def test_no_text_of_a_file_reaches_the_terminal(
    export: Path, key: Path, spoil: Callable[[Any], None], trusts: bool
) -> None:
    said = lines(export)
    spoil(said)
    write(export, said)
    code, told = verified(export, *(("--key", key) if trusts else ()))
    assert code in {0, 1, 2}
    assert code or trusts  # whose keys nobody asks for may have any name
    assert quiet(told), told[:300]
    assert "Traceback" not in told


@pytest.mark.parametrize("script", ["verify_export.py", "verify_bundle.py"])
@pytest.mark.parametrize(
    "content",
    [DEEP, b"[]\n", b"{}\n", b"\xff\n", b"\n", b""],
    ids=["deep", "list", "object", "byte", "line", "nothing"],
)
def test_what_cannot_be_read_is_never_intact_and_no_traceback(
    script: str, export: Path, key: Path, content: bytes
) -> None:
    if script == "verify_export.py":
        content = export.read_bytes().splitlines(keepends=True)[0] + content
    export.write_bytes(content)
    code, told = run(script, export, "--key", key)
    assert code in {1, 2}
    assert quiet(told), told[:300]
    assert "Traceback" not in told


@pytest.mark.parametrize("option", ["--anchors", "--server-anchors"])
def test_anchors_too_deep_to_be_read_could_not_be_checked(
    export: Path, key: Path, tmp_path: Path, option: str
) -> None:
    (tmp_path / "anchors").write_bytes(DEEP)
    code, told = verified(export, "--key", key, option, tmp_path / "anchors")
    assert (code, told[:16]) == (2, "Could not check:")
    assert "Traceback" not in told


def test_an_entry_too_deep_to_be_read_could_not_be_checked(
    export: Path, key: Path
) -> None:
    export.write_bytes(export.read_bytes().splitlines(keepends=True)[0] + DEEP)
    code, told = verified(export, "--key", key)
    assert (code, told[:16]) == (2, "Could not check:")


@pytest.mark.parametrize("option", ["", "--anchors", "--server-anchors"])
def test_of_a_line_without_an_end_no_more_is_read_than_the_longest(
    export: Path, key: Path, tmp_path: Path, option: str
) -> None:
    """As a sparse file of which all but the beginning would not fit into memory."""
    endless = export if not option else tmp_path / "anchors"
    first = export.read_bytes().splitlines(keepends=True)[0]
    endless.write_bytes(b"" if option else first)
    with endless.open("ab") as out:
        out.truncate(1 << 40)
    given = (option, endless) if option else ()
    code, told = verified(export, "--key", key, *given)
    assert code in {1, 2}
    assert quiet(told)


def test_a_line_of_the_longest_is_read(tmp_path: Path, export: Path, key: Path) -> None:
    said = lines(export)
    write(export, [{**said[0], "more": "x" * (LONGEST - 1_000)}, *said[1:]])
    assert verified(export, "--key", key)[0] == 0
    write(export, [{**said[0], "more": "x" * LONGEST}, *said[1:]])
    assert verified(export, "--key", key)[0] == 2


@pytest.mark.parametrize("given", [_given, given_to_the_other])
def test_a_key_file_is_read_in_one_go(
    tmp_path: Path, given: Callable[..., Any]
) -> None:
    """Each beginning without an end was followed to the end of the file."""
    file = tmp_path / "keys.pem"
    file.write_bytes(b"-----BEGIN PUBLIC KEY-----\n" * 100_000 + trusted_pem())
    assert given([file]).keys() == {signing_key().id}


def test_a_key_further_down_is_told_of_and_who_signed(
    tenant_id: UUID, tmp_path: Path, export: Path, key: Path
) -> None:
    code, told = verified(export, "--key", key)
    assert (code, f"\n1 key trusted; signed by {signing_key().id}\n" in told) == (
        0,
        True,
    )
    other = Ed25519PrivateKey.generate()
    pem = other.public_key().public_bytes(
        Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
    )
    key.write_bytes(trusted_pem() + b"\n" * 500 + b"# " + pem)
    export.write_bytes(forged(tenant_id, other))
    code, told = verified(export, "--key", key)
    assert f"\n2 keys trusted; signed by {name(other)}\n" in told
    assert f"\n1 key in the file; signed by {name(other)}\n" in verified(export)[1]


def test_what_both_have_is_the_same_to_the_letter() -> None:
    one, other = parts("verify_export.py"), parts("verify_bundle.py")
    assert len(one.keys() & other.keys()) > 15
    for each in one.keys() & other.keys() - OWN:
        assert one[each] == other[each], each


def parts(script: str) -> dict[str, str | None]:
    text = (FOLDER / script).read_text()
    return {
        each.name: ast.get_source_segment(text, each)
        for each in ast.parse(text).body
        if isinstance(each, ast.FunctionDef | ast.ClassDef)
    }


def name(key: Ed25519PrivateKey) -> str:
    return sha256(key.public_key().public_bytes_raw()).hexdigest()[:16]


def forged(tenant_id: UUID, key: Ed25519PrivateKey) -> bytes:
    """A log without an entry, as another key would sign it."""
    domain = b"keyturn/audit-export/v1\0"
    signature = key.sign(domain + tenant_id.bytes + bytes(8) + bytes(32))
    public = b64encode(key.public_key().public_bytes_raw()).decode()
    head = {"seq": 0, "hash": b64encode(bytes(32)).decode()}
    first = {
        "format": "keyturn/audit-export/v1",
        "tenant": str(tenant_id),
        "keys": {name(key): public},
    }
    last = {
        "head": head,
        "key_id": name(key),
        "signature": b64encode(signature).decode(),
    }
    return b"".join(json.dumps(one).encode() + b"\n" for one in (first, last))


@pytest.mark.parametrize("script", ["verify_export.py", "verify_bundle.py"])
def test_without_what_it_needs_nothing_is_called_broken(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", FOLDER / script, "any"],
        env={},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == "Could not check: install the package `cryptography`.\n"
