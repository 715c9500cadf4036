"""A running installation: web, worker and beat as processes on the tests' database.

Take the fixture `installation` (one for a whole folder of tests: nothing is flushed, so
make a tenant of your own). Processes may be killed; they start again by themselves.
"""

import io
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock

import httpx
from django.conf import settings

from config.demo import programs
from config.embedded.supervisor import Program, Supervisor
from tests.examples.waiting import wait_until


class Log(io.TextIOBase):
    """What all processes wrote, for the message of a test that failed."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._lock = Lock()

    def write(self, text: str) -> int:
        with self._lock:
            self._parts.append(text)
        return len(text)

    def text(self) -> str:
        with self._lock:
            return "".join(self._parts)

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.text().splitlines()[-lines:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Where it is, and what can be done to its processes."""

    url: str
    log: Log
    processes: Supervisor
    programs: Mapping[str, Program]

    @contextmanager
    def without(self, name: str) -> Iterator[None]:
        """Stop the process of that name, and start it again afterwards."""
        self.processes.stop(name)
        try:
            yield
        finally:
            self.processes.start(self.programs[name])

    def kill(self, name: str) -> None:
        """`kill -9` the process of that name and wait until its successor runs."""
        pid = self.processes.pid(name)
        assert pid is not None, f"{name} does not run"
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: self.processes.pid(name) not in (None, pid))
        if name == "web":
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until the web process answers, and its database does."""
        try:
            wait_until(lambda: _answers(f"{self.url}/health/ready"), seconds=60)
        except AssertionError as error:
            raise AssertionError(f"web is not ready:\n{self.log.tail()}") from error


ALL_THREE = ("web", "worker", "beat")


@contextmanager
def running_installation(*names: str, **more: str) -> Iterator[Installation]:
    """Start all three, or those named, on the data folder that the environment names.

    Each is known to the database by its name (`application_name`), and finds `more` in
    its environment.
    """
    port = free_port()
    all_three = (programs.web(port), programs.worker(), programs.beat())
    wanted = names or ALL_THREE
    started = [one for one in all_three if one.name in wanted]
    with _running(started, port, **more) as running:
        yield running


@contextmanager
def _running(
    started: Sequence[Program], port: int, **more: str
) -> Iterator[Installation]:
    log, url, began = Log(), f"http://127.0.0.1:{port}", time.time()
    told = {one.name: _told(one, url, **more) for one in started}
    with Supervisor(output=log) as processes:
        for program in told.values():
            processes.start(program)
        running = Installation(url=url, log=log, processes=processes, programs=told)
        running.wait_until_ready()
        if "worker" in told:
            # Otherwise the first test's patience is spent on its start.
            wait_until(lambda: _a_worker_is_ready(began), seconds=60)
        yield running


@contextmanager
def granian(*, threads: int) -> Iterator[Installation]:
    """The web process alone, behind production's server for ordinary requests."""
    port = free_port()
    command = (
        *(sys.executable, "-m", "granian", "config.wsgi:application"),
        *("--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port)),
        *("--workers", "1", "--blocking-threads", str(threads)),
    )
    with _running([replace(programs.web(port), command=command)], port) as running:
        yield running


def free_port() -> int:
    """A port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _told(program: Program, url: str, **more: str) -> Program:
    told = {
        "KEYTURN_BASE_URL": url,
        "KEYTURN_ALLOW_PRIVATE": "127.0.0.0/8",  # tools of tests are on this machine
        "KEYTURN_LOGS": "console",
        "PGAPPNAME": program.name,
    }
    return Program(
        name=program.name,
        command=program.command,
        environment={**program.environment, **told, **more},
    )


def _a_worker_is_ready(began: float) -> bool:
    """It touches a file of its own once it takes work."""
    files = (settings.DATA_DIR / "workers").glob("*")
    return any(one.stat().st_mtime >= began for one in files)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False, timeout=5).is_success
    except httpx.TransportError:
        return False
