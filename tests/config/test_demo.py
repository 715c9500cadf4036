"""The demo as a newcomer meets it: one command, and afterwards nothing is left."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from config import embedded
from config.demo.agent_api import AgentApi
from config.demo.place import probe
from config.demo.processes import Roll, is_alive
from config.demo.record import Record, read_record, record_file
from config.demo.reviewer import Reviewer
from config.demo.seed.cast import ADA, AINO, MAREN
from tests.examples.waiting import wait_until

# In order and on one worker: they share a demo, and the last of them end it.
pytestmark = [pytest.mark.xdist_group("demo"), pytest.mark.usefixtures("stoppable")]

BASE_DIR = Path(__file__).resolve().parents[2]
ROLES = {"owner", "admin", "reviewer", "auditor", "developer"}


class Demo:
    """One `manage.py demo` after the other in a folder of their own."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.said: list[str] = []
        self.process: subprocess.Popen[str] | None = None

    def start(self, *options: str) -> None:
        """Start it and wait until it says how to stop it."""
        self.begin(*options)
        wait_until(self._is_usable, seconds=240)

    def begin(self, *options: str) -> None:
        """Start it."""
        self.said = []
        self.process = subprocess.Popen(
            self.command("--port", "0", *options),
            stderr=subprocess.STDOUT,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=clean_environment(),
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def run(
        self, *options: str, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run it to its end."""
        return subprocess.run(
            self.command(*options),
            capture_output=True,
            text=True,
            timeout=240,
            env=clean_environment() | environment,
        )

    def command(self, *options: str) -> list[str]:
        manage, folder = str(BASE_DIR / "manage.py"), str(self.data_dir)
        return [sys.executable, manage, "demo", "--data-dir", folder, *options]

    def send(self, which: signal.Signals) -> int:
        """Send it a signal and wait for its end; return its exit code."""
        assert self.process is not None
        self.process.send_signal(which)
        return self.process.wait(timeout=60)

    @property
    def text(self) -> str:
        return "".join(self.said)

    @property
    def record(self) -> Record:
        record = read_record(self.data_dir)
        assert record is not None
        return record

    def api(self, agent: str) -> AgentApi:
        return AgentApi(
            self.record.url, self.record.tenant("fjordline").api_keys[agent]
        )

    def processes(self) -> list[str]:
        """The command lines of every process that has to do with this folder."""
        listed = subprocess.run(
            ["ps", "-ww", "-eo", "args"], capture_output=True, text=True
        ).stdout.splitlines()
        ports = (self.record.url, self.record.correction_url)
        mine = (str(self.data_dir), *(url.rpartition(":")[2] for url in ports))
        return [line for line in listed if any(each in line for each in mine)]

    def _listen(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            self.said.extend(lines)

    def _is_usable(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.text
        return "Ctrl-C stops everything" in self.text


def clean_environment() -> dict[str, str]:
    """Ours, without what the tests' own installation is told by."""
    ours = ("DATABASE_", "CELERY_", "DJANGO_", "KEYTURN_")
    return {key: value for key, value in os.environ.items() if not key.startswith(ours)}


@contextmanager
def new_demo() -> Iterator[Demo]:
    """A demo in a new folder, which is taken away with all that runs there."""
    place = Path(tempfile.mkdtemp(prefix="keyturn demo "))
    place.chmod(0o755)  # as root, PostgreSQL's account has to come by
    one = Demo(place / "data")
    try:
        yield one
    finally:
        if one.process is not None and one.process.poll() is None:
            one.send(signal.SIGTERM)
        embedded.stop(one.data_dir)
        shutil.rmtree(place)


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """A demo that runs, filled, for all tests of this module."""
    with new_demo() as one:
        one.start()
        yield one


@pytest.fixture
def other_demo() -> Iterator[Demo]:
    with new_demo() as one:
        yield one


def test_it_says_where_to_go_and_as_whom(demo: Demo) -> None:
    record = demo.record
    assert record.url in demo.text
    for tenant in record.tenants:
        for user in tenant.users:
            assert f"{user.email}" in demo.text
            assert user.password in demo.text
    assert record.tenant("fjordline").api_keys["invoice-agent"] in demo.text
    assert "request for invoice INV-1042" in demo.text


def test_its_steps_stand_together_and_are_numbered(demo: Demo) -> None:
    wait_until(lambda: "│" in demo.text)  # the agent's own
    before, _, _ = demo.text.partition("│")
    done = [line.split()[1] for line in before.splitlines() if line.startswith("✓")]
    assert done == ["1/5", "2/5", "3/5", "4/5", "5/5"]
    assert "… 2/5 Creating tables, rules and roles: 1 of " in before
    assert "Ctrl-C stops everything" in before


def test_only_what_is_worth_watching_scrolls_by(demo: Demo) -> None:
    log = demo.data_dir / "logs" / "demo.log"
    wait_until(lambda: "worker     │" in log.read_text())
    assert "worker     │" not in demo.text


def test_the_record_is_its_owners_and_complete(demo: Demo) -> None:
    file = record_file(demo.data_dir)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    written = json.loads(file.read_text())
    assert written.keys() == {"url", "correction_url", "tenants"}
    for tenant in written["tenants"]:
        assert tenant.keys() == {"slug", "api_keys", "users"}
        assert all(
            user.keys() == {"email", "password", "roles"} for user in tenant["users"]
        )
    fjordline, nordvik = written["tenants"]
    assert {role for user in fjordline["users"] for role in user["roles"]} == ROLES
    assert len({user["email"] for user in fjordline["users"]}) == 6
    shared = {user["email"] for user in nordvik["users"]}
    assert shared <= {user["email"] for user in fjordline["users"]}
    assert fjordline["api_keys"].keys() == {
        "invoice-agent",
        "support-agent",
        "ops-agent",
    }
    passwords = [user["password"] for user in fjordline["users"]]
    assert len(set(passwords)) == 6


def test_everybody_can_sign_in_to_what_is_theirs(demo: Demo) -> None:
    for tenant in demo.record.tenants:
        for user in tenant.users:
            with Reviewer.at(demo.record.url, tenant.slug) as browser:
                browser.sign_in(user)
                home = browser.http.get(f"/t/{tenant.slug}/", follow_redirects=True)
                assert home.status_code == 200, user.email


def test_a_dozen_requests_of_many_kinds_wait(demo: Demo) -> None:
    asked = everything(demo)
    status = {one["tool"]: one["status"] for one in asked}
    waiting = [one for one in asked if not one["resolved"]]
    assert len(waiting) >= 12
    assert {one["risk"] for one in waiting} == {"low", "medium", "high", "critical"}
    assert {one["mode"] for one in waiting} == {"managed", "agent"}
    assert status["grant_access"] == "changes_requested"
    (limit,) = (one for one in waiting if one["tool"] == "set_rate_limit")
    assert [(one["verdict"], one["counted"]) for one in limit["decisions"]] == [
        ("approve", True)
    ]
    references = [one["arguments"].get("reference", "") for one in waiting]
    assert any("\u202e" in reference for reference in references)


def test_policy_alone_decided_two(demo: Demo) -> None:
    def decided() -> set[str]:
        return {one["status"] for one in everything(demo) if one["resolved"]}

    wait_until(lambda: decided() == {"consumed", "rejected"})


def test_the_agent_has_paused_before_the_correction(demo: Demo) -> None:
    api = demo.api("invoice-agent")

    def corrections() -> list[dict[str, Any]]:
        asked = api.list("approvals", status="pending")
        return [one for one in asked if one["tool"] == "send_correction_request"]

    wait_until(corrections)
    (correction,) = corrections()
    assert correction["arguments"]["invoice_id"] == "INV-1042"
    assert api.get(f"runs/{correction['run']}")["external_id"] == "TASK-1842"


def test_the_whole_story_on_the_demo_that_runs(demo: Demo) -> None:
    played = demo.run("--once", "--json")
    assert played.returncode == 0, played.stderr
    (line,) = played.stdout.splitlines()
    told = json.loads(line)
    assert told.pop("external_id").startswith("CR-")
    assert told.pop("request")
    checks = dict.fromkeys(("identity", "position", "effects", "authority"), "passed")
    assert told == {
        "status": "consumed",
        "effects": 1,
        "checks": checks,
        "audit": "intact",
    }


def test_whatever_is_approved_happens(demo: Demo) -> None:
    """Enough people have the rights for each, and a system that answers is behind it."""
    tenant = demo.record.tenant("fjordline")
    asked = [
        one["id"]
        for one in everything(demo)
        if one["status"] == "pending" and one["mode"] == "managed"
    ]
    assert len(asked) >= 9
    for email in (MAREN, AINO, ADA):
        with Reviewer.at(demo.record.url, tenant.slug) as browser:
            browser.sign_in(tenant.user(email))
            for request in asked:
                approve_if_possible(browser, request)
    wait_until(lambda: all(one["resolved"] for one in everything(demo, asked)))
    ended = [one["effect"] for one in everything(demo, asked)]
    assert {one and one["state"] for one in ended} == {"confirmed"}


def everything(demo: Demo, only: list[str] | None = None) -> list[dict[str, Any]]:
    agents = demo.record.tenant("fjordline").api_keys
    asked = [one for name in agents for one in demo.api(name).list("approvals")]
    return [one for one in asked if only is None or one["id"] in only]


def approve_if_possible(browser: Reviewer, request: str) -> None:
    try:
        digest = browser.digest_on_screen(request)
    except LookupError:
        return  # they may not see it, or it is decided
    answer = browser.decide(request, "approve", digest=digest, reason="Checked.")
    assert answer.status_code in (200, 403), answer.text


def test_a_second_demo_in_the_folder_is_refused(demo: Demo) -> None:
    second = demo.run("--port", "0")
    assert second.returncode == 1
    assert "runs already" in second.stderr
    assert demo.record.url in second.stderr


def test_a_port_that_is_taken_is_said_before_anything_starts(
    demo: Demo, tmp_path: Path
) -> None:
    port = str(httpx.URL(demo.record.url).port)
    refused = Demo(tmp_path / "data").run("--port", port)
    assert refused.returncode == 1
    assert f"Port {port}" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "data" / "postgres").exists()


def test_it_fills_no_database_of_somebody_elses(tmp_path: Path) -> None:
    url = "postgresql://keyturn_app@database.invalid/keyturn"
    refused = Demo(tmp_path / "data").run(DATABASE_URL=url)
    assert refused.returncode == 1
    assert "DATABASE_URL" in refused.stderr
    assert not (tmp_path / "data").exists()


def test_killed_with_everything_it_begins_where_it_was(demo: Demo) -> None:
    before, asked = demo.record, digests(demo)
    assert demo.process is not None
    pids = json.loads((demo.data_dir / "demo" / "processes.json").read_text())
    for pid, _ in pids.values():
        os.kill(int(pid), signal.SIGKILL)
    demo.send(signal.SIGKILL)
    demo.start()
    assert demo.record.tenants == before.tenants
    assert demo.record.correction_url == before.correction_url
    assert digests(demo) == asked


def digests(demo: Demo) -> dict[str, str]:
    asked = demo.api("ops-agent").list("approvals")
    return {one["id"]: one["digest"] for one in asked}


def test_ctrl_c_leaves_nothing_behind(demo: Demo) -> None:
    assert len(demo.processes()) >= 4
    assert is_alive(demo.data_dir / "demo")
    assert demo.send(signal.SIGINT) == 0
    assert demo.processes() == []
    assert not is_alive(demo.data_dir / "demo")
    assert embedded.status(demo.data_dir) == {"postgres": "stopped"}
    for url in (demo.record.url, demo.record.correction_url):
        probe(httpx.URL(url).port or 0)


def test_leftovers_are_ended_and_strangers_are_not(tmp_path: Path) -> None:
    wait = [sys.executable, "-c", "input()"]
    left, stranger = (
        subprocess.Popen(wait, stdin=subprocess.PIPE, start_new_session=True)
        for _ in range(2)
    )
    roll = Roll(tmp_path)
    for name, process in (("left", left), ("stranger", stranger)):
        roll.note(name, process.pid)
    file = tmp_path / "processes.json"
    listed = json.loads(file.read_text())
    listed["stranger"][1] = "began at another time"
    file.write_text(json.dumps(listed))
    try:
        assert Roll(tmp_path).end_leftovers() == ["left"]
        assert left.wait(timeout=10) == -signal.SIGTERM
        assert stranger.poll() is None
        assert Roll(tmp_path).end_leftovers() == []
    finally:
        for process in (left, stranger):
            process.kill()
            process.communicate()


@pytest.mark.long
def test_without_a_seed_it_begins_in_the_browser(other_demo: Demo) -> None:
    other_demo.start("--no-seed")
    url = other_demo.text.split("runs at ")[1].split()[0]
    page = httpx.get(url, follow_redirects=True, trust_env=False)
    assert (page.status_code, page.url.path) == (200, "/start")
    assert not record_file(other_demo.data_dir).exists()


@pytest.mark.long
def test_killed_while_it_fills_the_database_it_begins_anew(other_demo: Demo) -> None:
    other_demo.begin()
    unfinished = other_demo.data_dir / "demo" / "unfinished"
    wait_until(unfinished.exists, seconds=240)
    other_demo.send(signal.SIGKILL)
    other_demo.start()
    assert "Began anew" in other_demo.text
    assert not unfinished.exists()
    assert len(other_demo.record.tenants) == 2
    assert len(everything(other_demo)) >= 12


@pytest.mark.long
def test_it_leaves_tenants_of_others_alone(other_demo: Demo) -> None:
    other_demo.start()
    record_file(other_demo.data_dir).unlink()
    other_demo.send(signal.SIGINT)
    again = other_demo.run("--port", "0")
    assert again.returncode == 1
    assert "not the demo's" in again.stderr
    assert embedded.status(other_demo.data_dir) == {"postgres": "stopped"}
