"""The audit log verified away from the server, with nothing but what its page offers."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

import audit
from audit.anchors import anchor
from oversight.presentation.audit import ANCHORS, BUNDLE, KEYS, SCRIPT
from tenants.models import Role
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import reader
from tests.factories import Somebody, fresh_member

NEEDED = ("cryptography", "cffi", "_cffi_backend", "pycparser")
# A Python that was set up by somebody who knows nothing of Keyturn or Django.
BARE = """
import runpy, sys
sys.path.append(sys.argv[1])
sys.argv = sys.argv[2:]
try:
    import django
except ImportError:
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def stage(settings: Any, tmp_path: Path) -> Stage:
    settings.DATA_DIR = tmp_path / "data"  # whose anchors are ours alone
    stage = fresh_stage()
    stage.answer(stage.ask())
    fresh_stage()  # whose anchors lie between ours
    anchor()
    return stage


@pytest.fixture
def auditor(stage: Stage) -> Somebody:
    return fresh_member(stage.house.alice, "Aud", role=Role.AUDITOR)


@pytest.fixture
def folder(stage: Stage, auditor: Somebody, tmp_path: Path) -> Path:
    """Where the auditor has put all that the page offers."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    page = reader(stage, auditor).get("audit").context["audit"]
    (place / BUNDLE).write_bytes(taken(auditor, page.export_href, {"form": "bundle"}))
    for name, href in page.elsewhere.files:
        (place / name).write_bytes(taken(auditor, href))
    return place


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """What `pip install cryptography` brings, and no more."""
    place = tmp_path / "packages"
    place.mkdir()
    for name in NEEDED:
        if (found := find_spec(name)) and found.origin:
            file = Path(found.origin)
            file = file.parent if file.name == "__init__.py" else file
            (place / file.name).symlink_to(file)
    return place


def taken(who: Somebody, path: str, form: dict[str, str] | None = None) -> bytes:
    async def take() -> bytes:
        client = AsyncClient()
        await client.aforce_login(who.user)
        asked = client.get(path) if form is None else client.post(path, form)
        answer: Any = await asked
        assert answer.status_code == 200
        assert answer["Content-Disposition"].startswith("attachment; ")
        if not answer.streaming:
            return bytes(answer.content)
        return b"".join([chunk async for chunk in answer.streaming_content])

    return async_to_sync(take)()


def typed(folder: Path, packages: Path, command: str) -> tuple[int, str]:
    """What the page's own command comes to there."""
    python, *arguments = command.split()
    assert python == "python"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", BARE, str(packages), *arguments],
        cwd=folder,
        env={},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def command(stage: Stage, auditor: Somebody) -> str:
    page = reader(stage, auditor).get("audit")
    said: str = page.context["audit"].elsewhere.command
    assert said in page.content.decode()
    return said


def test_what_the_page_offers_verifies_what_it_exports(
    stage: Stage, folder: Path, packages: Path, command: str
) -> None:
    code, said = typed(folder, packages, command)
    assert (code, said.split(":")[0]) == (0, f"intact {stage.tenant_id}"), said
    assert ", 1 anchors, " in said
    assert "keys came with the file" not in said


@pytest.mark.parametrize("name", [BUNDLE, ANCHORS])
def test_one_byte_that_was_changed_is_found(
    folder: Path, packages: Path, command: str, name: str
) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    code, said = typed(folder, packages, command)
    assert (code, said[:7]) == (1, "BROKEN "), said


def test_the_script_is_the_installations_own(stage: Stage, auditor: Somebody) -> None:
    answer = reader(stage, auditor).get(f"audit/{SCRIPT}")
    assert answer["Content-Type"] == "text/x-python"
    own = Path(audit.__file__).parent / "offline" / SCRIPT
    assert answer.content == own.read_bytes()


def test_the_key_is_public_and_no_other_is_given_away(folder: Path) -> None:
    text = (folder / KEYS).read_text()
    assert text.startswith("-----BEGIN PUBLIC KEY-----")
    assert "PRIVATE" not in text


def test_another_tenants_anchors_are_nowhere(
    stage: Stage, settings: Any, folder: Path
) -> None:
    lines = (settings.DATA_DIR / ANCHORS).read_text().splitlines()
    others = {line.split('"tenant":"')[1][:36] for line in lines}
    others.remove(str(stage.tenant_id))
    assert others
    assert not [one for one in others if one in (folder / ANCHORS).read_text()]


@pytest.mark.parametrize("name", [SCRIPT, KEYS, ANCHORS])
def test_they_are_for_who_may_read_the_log(stage: Stage, name: str) -> None:
    developer = fresh_member(stage.house.alice, "Dev", role=Role.DEVELOPER)
    for who in (stage.bob, developer):
        assert reader(stage, who).get(f"audit/{name}").status_code == 403
    for role in (Role.OWNER, Role.ADMIN, Role.AUDITOR):
        who = fresh_member(stage.house.alice, role.value, role=role)
        assert reader(stage, who).get(f"audit/{name}").status_code == 200
