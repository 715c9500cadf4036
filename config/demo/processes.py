"""Which processes are the demo's: so that one runs at a time, and none is left behind.

A process is recognised by its number and the moment it began. A number alone may
belong to a stranger by now, and strangers are left alone.
"""

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from config.embedded.passwords import write_private

_PATIENCE: Final = 5.0  # seconds in which a leftover may end by itself
_TICK: Final = 0.05


class AlreadyRuns(Exception):
    """Another demo keeps this folder."""


def is_alive(folder: Path) -> bool:
    """Whether a demo runs from this folder now: the kernel knows who holds its lock."""
    if not folder.is_dir():
        return False
    try:
        with alone(folder):
            return False
    except AlreadyRuns:
        return True


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Be the folder's only demo, until the end or until killed."""
    with (folder / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRuns(f"A demo runs in {folder.parent} already.") from error
        yield


class Roll:
    """The list, on disk, of what the demo has started: one process a name."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "processes.json"
        self._known: dict[str, list[str]] = {}

    def note(self, name: str, pid: int) -> None:
        """Write down a process that has just been started."""
        self._known[name] = [str(pid), _beginning(pid)]
        self._write()

    def end_leftovers(self) -> list[str]:
        """End what a killed demo left behind; return its names."""
        left = list(self._left())
        for _, pid, _ in left:
            _signal(pid, signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE
        for _, pid, began in left:
            while _beginning(pid) == began and time.monotonic() < deadline:
                time.sleep(_TICK)
            _signal(pid, signal.SIGKILL)
        self._write()
        return [name for name, _, _ in left]

    def _left(self) -> Iterator[tuple[str, int, str]]:
        """Those of the list that still are the processes they were."""
        with suppress(FileNotFoundError, ValueError):
            for name, (number, began) in json.loads(self._file.read_text()).items():
                pid = int(number)
                if began and _beginning(pid) == began and _leads_a_group(pid):
                    yield name, pid, began

    def _write(self) -> None:
        write_private(self._file, json.dumps(self._known))


def _beginning(pid: int) -> str:
    """When the process began, as text that no other of that number has; "": it ended."""
    proc = Path("/proc")
    if (proc / "self").exists():
        with suppress(OSError):
            boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
            state, *_, began = _status(proc / str(pid) / "stat")
            return "" if state == "Z" else f"{boot} {began}"
        return ""
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()  # noqa: S603


def _status(file: Path) -> list[str]:
    """State to start time, as proc(5) lists them. The name before may hold anything."""
    return file.read_text().rsplit(")", 1)[1].split()[:20]


def _leads_a_group(pid: int) -> bool:
    try:
        return os.getpgid(pid) == pid
    except ProcessLookupError:
        return False


def _signal(pid: int, which: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, which)
