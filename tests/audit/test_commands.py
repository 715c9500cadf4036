"""The commands, and the script that needs no Django."""

import io
import json
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command

import audit
from audit.anchors import anchors_file
from audit.keys import signing_key
from audit.offline.verify_export import Broken, _given, check
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tenants.models import Tenant
from tests.audit.conftest import Chain, Superuser

OFFLINE = Path(audit.__file__).parent / "offline" / "verify_export.py"


@pytest.fixture(autouse=True)
def own_data_folder(settings, tmp_path: Path) -> None:
    """Anchors of these tests' own; the signing key stays where it is."""
    settings.DATA_DIR = tmp_path


def run(*arguments: str) -> tuple[int, str]:
    """The exit code of verify_audit and everything it wrote."""
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit", *arguments, stdout=out, stderr=out)
    assert isinstance(ended.value.code, int)
    return ended.value.code, out.getvalue()


class TestVerifyAudit:
    def test_an_intact_chain_is_0(self, tenant_id: UUID, append: Chain) -> None:
        append(3)
        code, said = run("--tenant", str(tenant_id))
        assert code == 0
        assert f"intact {tenant_id}: 3 entries, signatures checked" in said

    def test_a_broken_chain_is_1_and_named(
        self, tenant_id: UUID, append: Chain, superuser: Superuser
    ) -> None:
        append(3)
        superuser.change(tenant_id, 2, actor_id="mallory")
        code, said = run("--tenant", str(tenant_id))
        assert code == 1
        assert f"BROKEN {tenant_id} at entry 2: copy: the column actor_id" in said

    def test_fast_checks_hashes_only(self, tenant_id: UUID, append: Chain) -> None:
        append(1)
        code, said = run("--tenant", str(tenant_id), "--fast")
        assert (code, "hashes only" in said) == (0, True)

    def test_a_tenant_without_a_chain_is_2(self) -> None:
        code, said = run("--tenant", str(new_id()))
        assert (code, "has no audit chain" in said) == (2, True)

    def test_an_unknown_name_is_2(self) -> None:
        code, said = run("--tenant", "nobody")
        assert (code, "No tenant 'nobody'" in said) == (2, True)

    def test_a_missing_key_is_2(
        self, tenant_id: UUID, append: Chain, settings, tmp_path: Path
    ) -> None:
        append(1)
        settings.EMBEDDED = False
        settings.AUDIT_KEY = tmp_path / "none.pem"
        code, said = run("--tenant", str(tenant_id))
        assert (code, "no key at" in said) == (2, True)

    def test_every_tenant_is_checked_when_none_is_named(
        self, tenant_id: UUID, append: Chain, superuser: Superuser
    ) -> None:
        append(2)
        superuser.execute("DELETE FROM audit_head WHERE tenant_id = %s", tenant_id)
        code, said = run("--json")
        report = json.loads(said)
        ours = [each for each in report["tenants"] if each["tenant"] == str(tenant_id)]
        assert code == 1
        assert report["intact"] is False
        assert ours[0]["flaw"]["reason"] == "head"
        assert ours[0]["head"] == {"seq": 0, "hash": "00" * 32}

    def test_json_tells_everything(self, tenant_id: UUID, append: Chain) -> None:
        *_, last = append(2)
        call_command("anchor_audit", stdout=io.StringIO())
        code, said = run("--tenant", str(tenant_id), "--json")
        report = json.loads(said)
        (ours,) = report["tenants"]
        assert (code, report["intact"], report["anchors"]["flaw"]) == (0, True, None)
        assert ours["entries"] == 2
        assert ours["head"] == {"seq": 2, "hash": last.hash.hex()}
        assert (ours["anchors"], ours["signatures_checked"]) == (1, True)
        assert ours["flaw"] is None

    def test_an_anchor_finds_a_truncated_chain(
        self, tenant_id: UUID, append: Chain, superuser: Superuser
    ) -> None:
        append(4)
        call_command("anchor_audit", stdout=io.StringIO())
        superuser.cut(tenant_id, after=2)
        code, said = run("--tenant", str(tenant_id))
        assert code == 1
        assert "at entry 3: anchor: 2 entries are left of the 4" in said

    def test_a_broken_anchor_file_is_1(self, tenant_id: UUID, append: Chain) -> None:
        append(1)
        anchors_file().write_text("{}\n")
        code, said = run("--tenant", str(tenant_id))
        assert (code, "BROKEN anchors: line 1" in said) == (1, True)

    def test_a_tenant_may_be_named_by_its_slug(
        self, tenant_id: UUID, append: Chain
    ) -> None:
        slug = f"acme-{tenant_id}"
        with tenant_transaction(tenant_id):
            Tenant.objects.create(id=tenant_id, slug=slug, name="Acme")
        append(1)
        code, said = run("--tenant", slug)
        assert (code, f"intact {slug}: 1 entries" in said) == (0, True)


class TestExportAudit:
    @pytest.fixture
    def export(self, tenant_id: UUID, append: Chain, tmp_path: Path) -> Path:
        """An export of four entries, and anchors of its head."""
        append(4)
        call_command("anchor_audit", stdout=io.StringIO())
        path = tmp_path / "export.ndjson"
        call_command(
            "export_audit", tenant=str(tenant_id), out=str(path), stderr=io.StringIO()
        )
        return path

    @pytest.fixture
    def key(self, tmp_path: Path) -> Path:
        return self.public_key(signing_key().private, tmp_path / "audit.pub.pem")

    def public_key(self, private: Ed25519PrivateKey, path: Path) -> Path:
        path.write_bytes(
            private.public_key().public_bytes(
                serialization.Encoding.PEM,
                serialization.PublicFormat.SubjectPublicKeyInfo,
            )
        )
        return path

    def offline(self, *arguments: object) -> tuple[int, str]:
        """Run the script alone: no path to this project, no environment."""
        done = subprocess.run(
            [sys.executable, "-I", OFFLINE, *map(str, arguments)],
            cwd="/",
            env={},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    def edit(self, export: Path, number: int, **members: object) -> None:
        lines = export.read_text().splitlines()
        lines[number] = json.dumps(json.loads(lines[number]) | members)
        export.write_text("\n".join(lines) + "\n")

    def test_it_is_intact(self, tenant_id: UUID, export: Path, key: Path) -> None:
        anchors = anchors_file()
        code, said = self.offline(export, "--key", key, "--server-anchors", anchors)
        assert code == 0
        assert f"intact {tenant_id}: 4 entries, 1 anchors" in said

    def test_without_a_key_it_says_what_that_proves(self, export: Path) -> None:
        code, said = self.offline(export)
        assert (code, "keys came with the file" in said) == (0, True)

    def test_another_key_is_not_trusted(self, export: Path, tmp_path: Path) -> None:
        stranger = self.public_key(Ed25519PrivateKey.generate(), tmp_path / "s.pem")
        code, said = self.offline(export, "--key", stranger)
        assert (code, "at entry 1: it is not signed" in said) == (1, True)

    @pytest.mark.parametrize("member", ["body", "prev", "hash", "signature"])
    def test_a_changed_entry_is_named(
        self, export: Path, key: Path, member: str
    ) -> None:
        line = json.loads(export.read_text().splitlines()[2])
        old = line[member]
        self.edit(export, 2, **{member: ("B" if old[0] == "A" else "A") + old[1:]})
        code, said = self.offline(export, "--key", key)
        assert (code, "at entry 2" in said) == (1, True)

    def test_every_byte_counts(self, export: Path, key: Path) -> None:
        """Of the entries and of the end, which are signed; the header is read anew."""
        content = export.read_bytes()
        for place in range(content.index(b"\n") + 1, len(content), 11):
            spoilt = bytearray(content)
            spoilt[place] ^= 1
            export.write_bytes(spoilt)
            with pytest.raises(Broken, match="at entry"):
                check(export, _given([key]))

    @pytest.mark.parametrize("number", [1, 2, 4])
    def test_a_missing_entry_is_named(
        self, export: Path, key: Path, number: int
    ) -> None:
        lines = export.read_text().splitlines(keepends=True)
        export.write_text("".join(lines[:number] + lines[number + 1 :]))
        code, said = self.offline(export, "--key", key)
        assert (code, f"at entry {number}" in said) == (1, True)

    def test_swapped_entries_are_named(self, export: Path, key: Path) -> None:
        lines = export.read_text().splitlines(keepends=True)
        lines[2], lines[3] = lines[3], lines[2]
        export.write_text("".join(lines))
        code, said = self.offline(export, "--key", key)
        assert (code, "at entry 2" in said) == (1, True)

    def test_a_file_without_its_end_is_broken(self, export: Path, key: Path) -> None:
        lines = export.read_text().splitlines(keepends=True)
        export.write_text("".join(lines[:-1]))
        code, said = self.offline(export, "--key", key)
        assert (code, "ends before its last line" in said) == (1, True)

    def test_a_shorter_end_cannot_be_signed(self, export: Path, key: Path) -> None:
        lines = export.read_text().splitlines(keepends=True)
        third = json.loads(lines[3])
        last = json.loads(lines[5])
        last["head"] = {"seq": 3, "hash": third["hash"]}
        export.write_text("".join(lines[:4]) + json.dumps(last) + "\n")
        code, said = self.offline(export, "--key", key)
        assert (code, "the head is not signed" in said) == (1, True)

    def test_more_after_the_end_is_broken(self, export: Path, key: Path) -> None:
        export.write_text(export.read_text() + "{}\n")
        assert self.offline(export, "--key", key)[0] == 1

    def test_another_tenants_name_on_it_is_broken(
        self, export: Path, key: Path
    ) -> None:
        self.edit(export, 0, tenant=str(new_id()))
        code, said = self.offline(export, "--key", key)
        assert (code, "at entry 1" in said) == (1, True)

    def test_an_anchor_that_saw_more_is_named(
        self, tenant_id: UUID, append: Chain, export: Path, key: Path
    ) -> None:
        append(2)
        call_command("anchor_audit", stdout=io.StringIO())
        anchors = anchors_file()
        code, said = self.offline(export, "--key", key, "--server-anchors", anchors)
        assert (code, "at entry 5: an anchor saw 6" in said) == (1, True)

    def test_what_is_no_export_is_2(self, tmp_path: Path, key: Path) -> None:
        other = tmp_path / "other.json"
        other.write_text("{}")
        assert self.offline(other, "--key", key)[0] == 2
        assert self.offline(tmp_path / "none", "--key", key)[0] == 2

    def test_a_broken_chain_is_exported_as_it_is(
        self,
        tenant_id: UUID,
        append: Chain,
        superuser: Superuser,
        key: Path,
        tmp_path: Path,
    ) -> None:
        append(3)
        superuser.change(tenant_id, 2, body=b"{}")
        superuser.rehash(tenant_id)
        path = tmp_path / "broken.ndjson"
        call_command(
            "export_audit", tenant=str(tenant_id), out=str(path), stderr=io.StringIO()
        )
        code, said = self.offline(path, "--key", key)
        assert (code, "at entry 2" in said) == (1, True)

    def test_a_file_is_never_overwritten(self, tenant_id: UUID, export: Path) -> None:
        before = export.read_bytes()
        with pytest.raises(CommandError, match="exists already"):
            call_command("export_audit", tenant=str(tenant_id), out=str(export))
        assert export.read_bytes() == before
