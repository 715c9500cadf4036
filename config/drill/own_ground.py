"""An installation of the drill's own, on this process's embedded data folder."""

import io
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

import httpx
import psycopg
from django.conf import settings
from django.db import connections

from config import embedded
from config.drill.programs import CLAIM_SECONDS, Programs, wrong_clock
from config.embedded import cluster, postgres
from config.embedded.supervisor import Supervisor
from oversight.drills.barriers import Barriers
from oversight.drills.ground import Ground, Skipped
from oversight.drills.waiting import wait_until

READY: Final = 90  # seconds for a program to start, on a busy machine
GRACE: Final = 2.0  # seconds for one to end: what it leaves undone is done again


@dataclass(slots=True)
class OwnHarm:
    """What can be done to it (`oversight.drills.ground.Harm`)."""

    programs: Programs
    processes: Supervisor
    barriers: Barriers
    data_dir: Path
    claim_seconds: int = CLAIM_SECONDS
    restarts: float = 30.0
    _copies: list[Path] = field(default_factory=list)

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)

    def kill_worker(self) -> None:
        pid = self.processes.pid("worker")
        assert pid is not None
        os.killpg(pid, signal.SIGKILL)  # each program leads a group of its own
        self._beat("worker").unlink(missing_ok=True)

    def wait_for_worker(self) -> None:
        wait_until("worker works", self._beat("worker").exists, seconds=READY)

    @contextmanager
    def standing_still(self, pid: int) -> Iterator[None]:
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @contextmanager
    def no_worker(self) -> Iterator[None]:
        self.processes.stop("worker")
        try:
            yield
        finally:
            self._start_worker("worker")

    @contextmanager
    def skewed(self, seconds: int) -> Iterator[None]:
        wrong = wrong_clock(seconds)
        if wrong is None:
            raise Skipped("libfaketime is not installed: apt-get install libfaketime")
        self._restart(**wrong)
        try:
            yield
        finally:
            self._restart()

    def wipe_broker(self) -> int:
        return sum(_removed(file) for file in self._messages())

    def multiply_messages(self, times: int) -> int:
        waiting = self._messages()
        for file in waiting:
            for number in range(1, times):
                stamp, _, rest = file.name.partition("_")
                with suppress(FileNotFoundError):  # a worker was quicker
                    shutil.copy(file, file.with_name(f"{stamp}_{number}{rest}"))
        return len(waiting)

    @contextmanager
    def broker_down(self) -> Iterator[None]:
        folder = self._broker()
        aside = folder.with_name("messages.away")
        folder.rename(aside)
        try:
            yield
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            aside.rename(folder)

    @contextmanager
    def database_down(self) -> Iterator[None]:
        _disconnect()
        embedded.stop(self.data_dir)
        try:
            yield
        finally:
            embedded.ensure(self.data_dir, durable=False)
            _disconnect()

    def execute(
        self, statement: str, parameters: Mapping[str, Any] | Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        url = postgres.url(self.data_dir, "postgres", "keyturn")
        with psycopg.connect(url, autocommit=True) as us:
            done = us.execute(statement, parameters or None)
            return done.fetchall() if done.description else []

    def backup(self) -> Path:
        home = cluster.locate(self.data_dir).home
        copy = home.with_name(f"{home.name}.copy{len(self._copies)}")
        self._copies.append(copy)
        with self.database_down():
            _replace(copy, home)
        return copy

    def restore(self, copy: Path) -> None:
        with self.database_down():
            _replace(cluster.locate(self.data_dir).home, copy)

    def remove_copies(self) -> None:
        for copy in self._copies:
            shutil.rmtree(copy, ignore_errors=True)

    def start(self) -> None:
        """All of it; returns once everything answers."""
        for program in (self.programs.tool(), self.programs.web()):
            self.processes.start(program)
        self._start_worker("worker")
        self.processes.start(self.programs.beat())
        wait_until("the tool answers", lambda: _answers(self._tool()), seconds=READY)
        self._wait_for_web()

    def _tool(self) -> str:
        return f"http://127.0.0.1:{self.programs.tool_port}/control/ready"

    def _restart(self, **more: str) -> None:
        """Web and worker anew, with more in their environment."""
        for name in ("web", "worker"):
            self.processes.stop(name)
        self.processes.start(self.programs.web(**more))
        self._start_worker("worker", **more)
        self._wait_for_web()

    def _start_worker(self, name: str, **more: str) -> None:
        self._beat(name).unlink(missing_ok=True)
        self.processes.start(self.programs.worker(name, **more))
        wait_until(f"{name} works", self._beat(name).exists, seconds=READY)

    def _beat(self, name: str) -> Path:
        """The file that a worker touches as soon as it takes work."""
        return self.data_dir / "workers" / f"{name}@drill"

    def _wait_for_web(self) -> None:
        url = f"http://127.0.0.1:{self.programs.port}/health/ready"
        wait_until("web answers", lambda: _answers(url), seconds=READY)

    def _broker(self) -> Path:
        return self.data_dir / "broker" / "messages"

    def _messages(self) -> list[Path]:
        return [each for each in self._broker().iterdir() if each.name[0] != "."]


@contextmanager
def own_ground(
    *,
    output: TextIO | None = None,
    environment: Mapping[str, str] | None = None,
    app: str = "config",
    asgi: str = "config.asgi:application",
) -> Iterator[Ground]:
    """Web, worker, beat and tool on `KEYTURN_DATA_DIR`, for as long as the block lasts.

    The database must run and be migrated. `output` gets what the programs write.
    """
    data_dir = Path(settings.DATA_DIR)
    folder = data_dir / "barriers"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    programs = Programs(
        port=_free_port(),
        tool_port=_free_port(),
        barriers=folder,
        environment=environment or {},
        app=app,
        asgi=asgi,
    )
    with Supervisor(output=output or io.StringIO(), grace=GRACE) as processes:
        harm = OwnHarm(programs, processes, Barriers(folder), data_dir)
        try:
            harm.start()
            yield Ground(
                url=f"http://127.0.0.1:{programs.port}",
                tools=f"http://127.0.0.1:{programs.tool_port}",
                harm=harm,
            )
        finally:
            harm.barriers.clear()
            harm.remove_copies()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False, timeout=5).is_success
    except httpx.TransportError:
        return False


def _removed(file: Path) -> int:
    try:
        file.unlink()
    except FileNotFoundError:  # a worker was quicker
        return 0
    return 1


def _disconnect() -> None:
    """Our own connections do not survive the server."""
    connections.close_all()
    connections["default"].close_pool()  # type: ignore[attr-defined]


def _replace(target: Path, source: Path) -> None:
    """As it is, with its owner and modes: PostgreSQL insists on them."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)  # noqa: S603, S607
