"""One tenant's anchors as a file: nobody else's, and all of them."""

import json
import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from audit.anchor_copy import _Checked, write_anchor_copy
from audit.anchors import anchor, anchor_recovered
from audit.append import recorded
from audit.export import export_chain
from audit.keys import create_key, trusted_keys, trusted_pem
from audit.offline.verify_bundle import _given as given_to_the_other
from audit.offline.verify_export import Broken, Unchecked, _given, check
from kernel.canonical import canonical_bytes
from kernel.ids import new_id
from tests.audit.conftest import ALICE, Chain, Superuser

type Lines = list[bytes]


@pytest.fixture(autouse=True)
def file(settings, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path / "anchors.ndjson"


@pytest.fixture
def other_id() -> UUID:
    return new_id()


@pytest.fixture
def anchored(tenant_id: UUID, other_id: UUID, append: Chain) -> None:
    """Three anchors of the tenant, with another's between them."""
    for _ in range(3):
        append(2)
        with recorded(other_id) as journal:
            subject = ("invoice", new_id())
            journal.record(kind="invoice.paid", actor=ALICE, subject=subject, data={})
        anchor()


@pytest.fixture
def alone(tenant_id: UUID, append: Chain) -> None:
    """Three anchors of the tenant, and nobody else's: each continues its own last one."""
    for _ in range(3):
        append(2)
        anchor_recovered(tenant_id)


@pytest.fixture(params=["anchored", "alone"])
def any_neighbours(request: pytest.FixtureRequest) -> None:
    """Once with other tenants' anchors between these, once without."""
    request.getfixturevalue(request.param)


def copied(tenant_id: UUID) -> Lines:
    out = BytesIO()
    write_anchor_copy(tenant_id, out)
    return out.getvalue().splitlines(keepends=True)


def checked(tenant_id: UUID, lines: Lines, folder: Path) -> str:
    """What the verifier says of the chain as it is, with these anchors."""
    export, anchors = folder / "export.ndjson", folder / "copy.ndjson"
    with export.open("wb") as out:
        export_chain(tenant_id, out)
    anchors.write_bytes(b"".join(lines))
    return check(export, dict(trusted_keys()), anchors=anchors)


@pytest.mark.usefixtures("anchored")
def test_it_holds_the_tenants_lines_and_no_word_of_another(
    tenant_id: UUID, other_id: UUID, file: Path, tmp_path: Path
) -> None:
    *lines, _ = copied(tenant_id)
    assert str(other_id).encode() in file.read_bytes()
    assert {json.loads(line)["tenant"] for line in lines} == {str(tenant_id)}
    assert str(other_id).encode() not in b"".join(lines)
    said = checked(tenant_id, copied(tenant_id), tmp_path)
    assert "6 entries, 3 anchors" in said
    at = json.loads(copied(tenant_id)[-1])["copy"]["at"].replace("T", " ")
    assert f"\nanchors as of {at[:16]}" in said
    assert " UTC, 3 of this tenant's\n" in said


def test_a_tenant_without_an_anchor_gets_none(
    tenant_id: UUID, append: Chain, tmp_path: Path
) -> None:
    append(1)
    assert "1 entries, 0 anchors" in checked(tenant_id, copied(tenant_id), tmp_path)


@pytest.mark.usefixtures("any_neighbours")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: lines[1:],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines[:-2], lines[-1]],
        lambda lines: [lines[-1]],
        lambda lines: [*lines[:-1], lines[-1].replace(b'"anchors":3', b'"anchors":2')],
        lambda lines: [*lines[:-1], b"{}\n"],
        lambda lines: [*lines[:-1], b"7\n"],
    ],
)
def test_no_line_can_be_moved_changed_or_left_out(
    tenant_id: UUID, tmp_path: Path, spoil: Callable[[Lines], Lines]
) -> None:
    with pytest.raises(Broken, match=r"^anchors: "):
        checked(tenant_id, spoil(copied(tenant_id)), tmp_path)


@pytest.mark.usefixtures("any_neighbours")
@pytest.mark.parametrize("left", [1, 2, 3])
def test_without_its_signed_end_a_copy_says_nothing(
    tenant_id: UUID, tmp_path: Path, left: int
) -> None:
    with pytest.raises(Unchecked, match="lack the signed last line"):
        checked(tenant_id, copied(tenant_id)[:left], tmp_path)


@pytest.mark.usefixtures("any_neighbours")
def test_a_copy_that_broke_off_anywhere_says_nothing(
    tenant_id: UUID, tmp_path: Path
) -> None:
    content, export = b"".join(copied(tenant_id)), tmp_path / "export.ndjson"
    checked(tenant_id, copied(tenant_id), tmp_path)
    for length in range(0, len(content), 7):
        (tmp_path / "copy.ndjson").write_bytes(content[:length])
        with pytest.raises(Unchecked):
            check(export, dict(trusted_keys()), anchors=tmp_path / "copy.ndjson")


@pytest.mark.usefixtures("any_neighbours")
def test_nothing_follows_a_copy_s_end(tenant_id: UUID, tmp_path: Path) -> None:
    lines = copied(tenant_id)
    with pytest.raises(Broken, match="there is more"):
        checked(tenant_id, [*lines, lines[-1]], tmp_path)


@pytest.mark.usefixtures("any_neighbours")
def test_every_byte_counts(tenant_id: UUID, tmp_path: Path) -> None:
    content = b"".join(copied(tenant_id))
    export = tmp_path / "export.ndjson"
    checked(tenant_id, copied(tenant_id), tmp_path)
    for place in range(0, len(content) - 1, 7):
        spoilt = bytearray(content)
        spoilt[place] ^= 1
        (tmp_path / "copy.ndjson").write_bytes(spoilt)
        with pytest.raises(Broken):
            check(export, dict(trusted_keys()), anchors=tmp_path / "copy.ndjson")


@pytest.mark.usefixtures("any_neighbours")
def test_neither_kind_of_file_is_taken_for_the_other(
    tenant_id: UUID, file: Path, tmp_path: Path
) -> None:
    copy, export = copied(tenant_id), tmp_path / "export.ndjson"
    checked(tenant_id, copy, tmp_path)
    keys = dict(trusted_keys())
    assert "3 anchors" in check(export, keys, server_anchors=file)
    with pytest.raises((Broken, Unchecked), match="--server-anchors"):
        check(export, keys, anchors=file)
    with pytest.raises(Broken, match=r"^anchors: line \d+ is not what was written"):
        check(export, keys, server_anchors=tmp_path / "copy.ndjson")


@pytest.mark.usefixtures("any_neighbours")
@pytest.mark.parametrize("cut", [1, 5, -1])
def test_the_server_s_file_is_read_whole_or_not_at_all(
    tenant_id: UUID, file: Path, tmp_path: Path, cut: int
) -> None:
    checked(tenant_id, copied(tenant_id), tmp_path)
    content = file.read_bytes()
    file.write_bytes(b"" if cut < 0 else content[:-cut])
    with pytest.raises(Unchecked, match="anchor"):
        check(tmp_path / "export.ndjson", dict(trusted_keys()), server_anchors=file)


@pytest.mark.usefixtures("anchored")
def test_anothers_copy_is_named(
    tenant_id: UUID, other_id: UUID, tmp_path: Path
) -> None:
    with pytest.raises(Broken, match="another tenant's"):
        checked(tenant_id, copied(other_id), tmp_path)


@pytest.mark.usefixtures("anchored")
@pytest.mark.parametrize("spoil", [lambda line: b"", lambda line: b"{}\n"])
def test_it_says_that_the_server_s_file_was_touched(
    tenant_id: UUID,
    other_id: UUID,
    file: Path,
    tmp_path: Path,
    spoil: Callable[[bytes], bytes],
) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if str(other_id).encode() in line)
    lines[number] = spoil(lines[number])
    file.write_bytes(b"".join(lines))
    with pytest.raises(Broken, match="the server's own file"):
        checked(tenant_id, copied(tenant_id), tmp_path)


def rewritten(file: Path, tenant_id: UUID, place: int, **members: object) -> None:
    """Change the tenant's line at that place of its own, as one without the key can."""
    rows = file.read_bytes().splitlines(keepends=True)
    mine = [n for n, row in enumerate(rows) if str(tenant_id).encode() in row]
    line = json.loads(rows[mine[place]]) | members
    rows[mine[place]] = canonical_bytes(line) + b"\n"
    file.write_bytes(b"".join(rows))


def says_whole(tenant_id: UUID) -> bool:
    whole: bool = json.loads(copied(tenant_id)[-1])["copy"]["whole"]
    return whole


@pytest.mark.usefixtures("any_neighbours")
@pytest.mark.parametrize("looked", [0, 1, 2], ids=["never", "once", "twice"])
@pytest.mark.parametrize("place", [0, -1])
def test_a_line_that_was_made_another_s_is_found(
    tenant_id: UUID, file: Path, tmp_path: Path, looked: int, place: int
) -> None:
    """Whether it is rewritten before it is first looked at, or long after that."""
    for _ in range(looked):
        assert says_whole(tenant_id)
    rewritten(file, tenant_id, place, tenant=str(new_id()))
    for _ in range(2):
        with pytest.raises(Broken, match="the server's own file"):
            checked(tenant_id, copied(tenant_id), tmp_path)


@pytest.mark.usefixtures("any_neighbours")
@pytest.mark.parametrize(
    "members",
    [
        {"signature": "00" * 64},
        {"signature": 7},
        {"key_id": "0" * 16},
        {"key_id": []},
        {"hash": "00" * 32},
        {"at": "2020-01-01T00:00:00.000000Z"},
        {"prev": "00"},
        {"more": 1},
    ],
)
def test_no_line_that_another_wrote_is_called_whole(
    tenant_id: UUID, file: Path, members: dict[str, object]
) -> None:
    rewritten(file, tenant_id, -1, **members)
    assert not says_whole(tenant_id)


@pytest.mark.usefixtures("any_neighbours")
def test_each_line_is_checked_once_and_the_file_anew_when_it_is_another(
    tenant_id: UUID, append: Chain, file: Path, tmp_path: Path
) -> None:
    before = file.read_bytes()
    assert says_whole(tenant_id)
    append(1)
    anchor_recovered(tenant_id)
    assert says_whole(tenant_id)
    file.write_bytes(before)  # shorter, and whole in itself
    assert says_whole(tenant_id)
    rewritten(file, tenant_id, -1, prev="00")
    assert not says_whole(tenant_id)
    (tmp_path / "new").write_bytes(before)
    (tmp_path / "new").rename(file)
    assert says_whole(tenant_id)


@pytest.mark.usefixtures("any_neighbours")
def test_half_a_line_is_not_yet_one(tenant_id: UUID, file: Path) -> None:
    """It is being written: what comes after its first half is no line of its own."""
    whole, copy = file.read_bytes(), copied(tenant_id)
    rows = whole.splitlines(keepends=True)
    file.write_bytes(whole + rows[-1][:100])
    assert says_whole(tenant_id)
    assert copied(tenant_id)[:-1] == copy[:-1]
    file.write_bytes(whole + rows[-1])  # which does not continue itself
    assert not says_whole(tenant_id)


class Growing(BytesIO):
    """A file whose last line gets its other half while it is read."""

    def __init__(self, content: bytes, half: int) -> None:
        super().__init__(content[:-half])
        self._rest = content[-half:]

    def __next__(self) -> bytes:
        line = super().__next__()
        if not line.endswith(b"\n") and self._rest:
            place = self.tell()
            self.write(self._rest)
            self.seek(place)
            self._rest = b""
        return line


@pytest.mark.usefixtures("any_neighbours")
def test_a_line_that_is_read_in_two_halves_is_no_damage(file: Path) -> None:
    """It is read when it has come to its end, the next time."""
    content, checked = file.read_bytes(), _Checked(file)
    growing = Growing(content, half=100)
    for _ in range(2):
        checked._read_on(growing, trusted_keys())
        assert checked._whole
    assert checked._size == len(content)


@pytest.mark.usefixtures("anchored")
def test_a_reader_who_went_ends_it_though_nothing_is_written() -> None:
    inner, outer = os.pipe()
    os.close(inner)
    with os.fdopen(outer, "wb") as out, pytest.raises(BrokenPipeError):
        write_anchor_copy(new_id(), out)


@pytest.mark.usefixtures("anchored")
def test_a_copy_that_was_kept_finds_what_was_cut_off_since(
    tenant_id: UUID, superuser: Superuser, file: Path, tmp_path: Path
) -> None:
    kept = copied(tenant_id)
    superuser.cut(tenant_id, after=4)
    file.unlink()
    with pytest.raises(Broken, match="at entry 5: an anchor saw 6"):
        checked(tenant_id, kept, tmp_path)


@pytest.mark.usefixtures("anchored")
def test_anchors_of_a_past_that_was_lost_are_void(
    tenant_id: UUID, superuser: Superuser, tmp_path: Path
) -> None:
    superuser.cut(tenant_id, after=4)
    anchor_recovered(tenant_id)
    assert "4 entries, 2 anchors" in checked(tenant_id, copied(tenant_id), tmp_path)


def test_all_trusted_keys_are_one_file_for_both_verifiers(
    settings, tmp_path: Path
) -> None:
    settings.AUDIT_KEY = tmp_path / "audit.pem"
    create_key(tmp_path / "former.pem")
    former = trusted_pem_of(settings, tmp_path / "former.pem")
    (tmp_path / "audit.pem.pub.d").mkdir()
    (tmp_path / "audit.pem.pub.d" / "1.pem").write_bytes(former)
    file = tmp_path / "audit-public.pem"
    file.write_bytes(trusted_pem())
    assert len(trusted_keys()) == 2
    for given in (_given, given_to_the_other):
        assert given([file]).keys() == trusted_keys().keys()


def trusted_pem_of(settings, path: Path) -> bytes:
    before, settings.AUDIT_KEY = settings.AUDIT_KEY, path
    pem = trusted_pem()
    settings.AUDIT_KEY = before
    load_pem_public_key(pem)
    return pem
