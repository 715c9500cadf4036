"""The tutorial's own words, carried out in an empty directory."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from tests.database import begin_anew
from tests.examples.waiting import wait_until
from tests.installation import Installation, running_installation

if TYPE_CHECKING:
    from tests.sdk.worlds import Real

PAGE = settings.BASE_DIR / "docs" / "tutorial.md"
# One installation for all of them.
pytestmark = pytest.mark.xdist_group("tutorial")
BLOCK = re.compile(r"^(?:[^\n]*`([\w.]+)`:\n\n)?```(\w+)\n(.*?)^```$", re.S | re.M)


@pytest.fixture(scope="module")
def installation(django_db_setup: None) -> Iterator[Installation]:
    begin_anew()
    with running_installation() as running:
        yield running


@pytest.fixture
def people(installation: Installation) -> Iterator["Real"]:
    from tests.sdk.worlds import real_world

    with real_world(installation) as world:
        yield world


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """With the files that the page tells to make, and nothing else."""
    for name, _, text in blocks():
        if name:
            (tmp_path / name).write_text(text)
    return tmp_path


def blocks() -> list[tuple[str, str, str]]:
    found = BLOCK.findall(PAGE.read_text())
    assert [name for name, _, _ in found if name] == [
        "pay.py",
        "later.py",
        "test_pay.py",
        "deploy.sh",
    ]
    return found


def commands(kind: str = "sh") -> list[str]:
    """What is typed, in its order."""
    return [text for name, language, text in blocks() if language == kind and not name]


def typed(command: str, directory: Path, people: "Real") -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "KEYTURN_URL": people.url,
        "KEYTURN_API_KEY": people.house.robot.text,
    }
    return subprocess.Popen(
        ["sh", "-eu", "-c", command],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    out, flaw = process.communicate(timeout=120)
    assert process.returncode == 0, flaw
    return out


def test_the_first_approval_takes_fifteen_lines() -> None:
    (text,) = (text for name, _, text in blocks() if name == "pay.py")
    assert len(text.strip().splitlines()) <= 15


def test_a_first_function_is_approved_rejected_and_edited(
    directory: Path, people: "Real"
) -> None:
    run, _ = commands()
    people.answer("approve")
    shown = commands("text")
    assert said(typed(run, directory, people)) == shown[0]
    people.answer("reject", reason="Not this supplier")
    assert said(typed(run, directory, people)) == shown[1]
    people.answer("edit", arguments={"amount": "10.00"})
    assert said(typed(run, directory, people)) == "paid 10.00 to Halden Paper\n"


def test_nobody_has_to_stand_there(directory: Path, people: "Real") -> None:
    _, later = commands()
    beginning = commands("text")[2].split("http")[0]
    for _ in range(2):
        assert said(typed(later, directory, people)).startswith(beginning)
    people.decide(people.pending(), "approve")
    (asked,) = people.api.get("approvals").json()["items"]
    path = f"approvals/{asked['id']}"
    wait_until(lambda: people.api.get(path).json()["next"] == "redeem")
    assert said(typed(later, directory, people)) == commands("text")[0]
    for _ in range(2):
        assert said(typed(later, directory, people)) == commands("text")[3]
    assert people.questions() == 1


def test_a_rejection_ends_in_a_sentence_each_time(
    directory: Path, people: "Real"
) -> None:
    _, later = commands()
    said(typed(later, directory, people))
    people.decide(people.pending(), "reject", reason="Not this supplier")
    (asked,) = people.api.get("approvals").json()["items"]
    path = f"approvals/{asked['id']}"
    wait_until(lambda: people.api.get(path).json()["status"] == "rejected")
    for _ in range(2):
        assert said(typed(later, directory, people)) == commands("text")[1]


def test_the_page_s_tests_pass(directory: Path, people: "Real") -> None:
    words = (
        f"{sys.executable} -m pytest -q -p no:cacheprovider -p no:django test_pay.py"
    )
    assert "2 passed" in said(typed(words, directory, people))


def test_the_shell_asks_too(directory: Path, people: "Real") -> None:
    people.answer("approve")
    assert said(typed("sh deploy.sh", directory, people)) == '{"version": "1.4.2"}'
    people.answer("reject", reason="Freeze")
    (directory / "approved.json").unlink()
    process = typed("sh deploy.sh", directory, people)
    process.communicate(timeout=120)
    assert process.returncode == 1
    assert not (directory / "approved.json").exists()


def test_the_package_is_where_the_page_installs_it_from() -> None:
    (install,) = (text for text in commands("console") if "pip install" in text)
    assert "~/keyturn/sdk" in install
    assert (settings.BASE_DIR / "sdk" / "pyproject.toml").exists()
