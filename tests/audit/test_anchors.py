"""Anchors: what a chain cannot say about its own end."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from audit.anchors import (
    NEWEST,
    anchor,
    anchor_recovered,
    anchors_file,
    newest_anchors,
    read_anchors,
)
from audit.verify import Report, verify_tenant
from tests.audit.conftest import Chain, Superuser


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "anchors.ndjson"


def verified(tenant_id: UUID, file: Path) -> Report:
    anchors = read_anchors(file)
    assert anchors.flaw is None
    return verify_tenant(tenant_id, anchors=anchors.of(tenant_id))


def anchored(tenant_id: UUID, file: Path) -> list[int]:
    return [anchor.seq for anchor in read_anchors(file).of(tenant_id)]


def test_a_head_is_anchored_when_it_has_moved(
    tenant_id: UUID, append: Chain, file: Path
) -> None:
    append(2)
    anchor(file)
    assert anchor(file) == 0
    append(1)
    assert anchor(file) == 1
    assert anchored(tenant_id, file) == [2, 3]
    report = verified(tenant_id, file)
    assert (report.intact, report.anchors) == (True, 2)


def test_no_file_is_no_anchor(tenant_id: UUID, file: Path) -> None:
    anchors = read_anchors(file)
    assert (anchors.lines, anchors.flaw) == ((), None)
    assert newest_anchors(tenant_id, file) == []


def test_the_newest_are_those_of_the_file_also_after_a_recovery(
    tenant_id: UUID, append: Chain, superuser: Superuser, file: Path
) -> None:
    for _ in range(NEWEST + 2):
        append(1)
        anchor(file)
    assert newest_anchors(tenant_id, file) == read_anchors(file).of(tenant_id)[2:]
    superuser.cut(tenant_id, after=NEWEST)
    anchor_recovered(tenant_id, file)
    assert newest_anchors(tenant_id, file) == read_anchors(file).of(tenant_id)[2:]
    assert [one.seq for one in newest_anchors(tenant_id, file)] == [3, 4, 5, 5]


def test_the_file_is_ours_alone_and_in_the_data_folder(
    tenant_id: UUID, append: Chain, settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    append(1)
    anchor()
    assert anchors_file() == tmp_path / "data" / "anchors.ndjson"
    assert anchors_file().stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("left", [1, 4])
def test_a_truncated_chain_is_behind_its_anchor(
    tenant_id: UUID, append: Chain, superuser: Superuser, file: Path, left: int
) -> None:
    append(5)
    anchor(file)
    superuser.cut(tenant_id, after=left)
    flaw = verified(tenant_id, file).flaw
    assert flaw is not None
    assert (flaw.seq, flaw.reason) == (left + 1, "anchor")


def test_a_tenant_that_was_removed_altogether(
    tenant_id: UUID, append: Chain, superuser: Superuser, file: Path
) -> None:
    append(2)
    anchor(file)
    for table in ("audit_entry", "audit_head"):
        superuser.execute(f"DELETE FROM {table} WHERE tenant_id = %s", tenant_id)
    assert tenant_id in read_anchors(file).tenants
    flaw = verified(tenant_id, file).flaw
    assert flaw is not None
    assert (flaw.seq, flaw.reason) == (1, "anchor")


def test_a_restored_database_that_went_on_from_an_earlier_day(
    tenant_id: UUID, append: Chain, superuser: Superuser, file: Path
) -> None:
    append(3)
    anchor(file)
    superuser.cut(tenant_id, after=1)
    append(5)  # properly signed, on another past
    assert verify_tenant(tenant_id).intact
    flaw = verified(tenant_id, file).flaw
    assert flaw is not None
    assert (flaw.seq, flaw.reason) == (3, "anchor")
    anchor(file)
    flaw = verified(tenant_id, file).flaw
    assert flaw is not None
    assert flaw.seq == 3


def test_a_chain_hashed_anew_is_off_its_anchor_even_without_signatures(
    tenant_id: UUID, append: Chain, superuser: Superuser, file: Path
) -> None:
    append(3)
    anchor(file)
    body = superuser.column(tenant_id, 2, "body").replace(b'"10.00"', b'"99.00"')
    superuser.change(tenant_id, 2, body=body)
    superuser.rehash(tenant_id)
    anchors = read_anchors(file).of(tenant_id)
    flaw = verify_tenant(tenant_id, anchors=anchors, fast=True).flaw
    assert flaw is not None
    assert (flaw.seq, flaw.reason) == (3, "anchor")


class TestTheFile:
    """What can happen to the file itself. Its last two lines are this tenant's."""

    @pytest.fixture(autouse=True)
    def lines(self, tenant_id: UUID, append: Chain, file: Path) -> None:
        for _ in range(3):
            append(1)
            anchor(file)
        self.count = len(read_anchors(file).lines)

    def edit(self, file: Path, number: int, **members: object) -> None:
        lines = file.read_bytes().splitlines()
        line = json.loads(lines[number]) | members
        lines[number] = json.dumps(line).encode()
        file.write_bytes(b"\n".join(lines) + b"\n")

    @pytest.mark.parametrize(
        "members",
        [
            {"seq": 1},
            {"hash": "00" * 32},
            {"tenant": str(UUID(int=7))},
            {"at": "2020-01-01T00:00:00.000000Z"},
            {"prev": "00"},
            {"key_id": "0123456789abcdef"},
            {"signature": "00" * 64},
            {"signature": "no"},
            {"more": 1},
        ],
    )
    def test_a_changed_line_is_named(self, file: Path, members: dict) -> None:
        self.edit(file, -2, **members)
        anchors = read_anchors(file)
        assert anchors.flaw is not None
        assert f"line {self.count - 1} " in anchors.flaw
        assert len(anchors.lines) == self.count - 2

    def test_a_missing_line_is_named(self, file: Path) -> None:
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(lines[:-2] + lines[-1:]))
        assert f"line {self.count - 1} " in (read_anchors(file).flaw or "")

    def test_a_line_that_a_crash_cut_off_is_written_again(
        self, tenant_id: UUID, file: Path
    ) -> None:
        file.write_bytes(file.read_bytes()[:-20])
        assert anchored(tenant_id, file) == [1, 2]
        assert read_anchors(file).flaw is None
        anchor(file)
        assert anchored(tenant_id, file) == [1, 2, 3]
        assert read_anchors(file).flaw is None
