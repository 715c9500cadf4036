"""Run several programs as one: prefixed logs, restarts after a crash, one clean end.

Each program leads a process group of its own, so that a Ctrl-C reaches the supervisor
alone, which then ends all of them in order, and so that what a program has started ends
with it.
"""

import os
import queue
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self, TextIO

from config.embedded.prefixed import Lines, Output, Prefixed

CHILD: Final = Path(__file__).with_name("child.py")
TICK: Final = 0.1  # seconds between looks at who has ended
FIRST_DELAY, LAST_DELAY = 0.5, 10.0  # seconds before a crashed program starts again
STEADY: Final = 30.0  # seconds up that make a program's crashes forgotten


OURS: Final = "keyturn"
_ENDINGS: Final = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, kw_only=True)
class Program:
    """What to run. `restart`: whether it is meant to run for good."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    restart: bool = True


@dataclass
class _Running:
    program: Program
    process: subprocess.Popen[bytes]
    pipe: IO[bytes]
    since: float
    delay: float
    lines: Lines = field(default_factory=Lines)


class Supervisor:
    """Programs by name. One thread of ours does everything; callers ask it.

    Use it as a context manager: leaving it ends every program, the last one first.
    """

    def __init__(
        self,
        *,
        output: Output = sys.stderr,
        log: TextIO | None = None,
        shown: Collection[str] = (),
        grace: float = 10.0,
        started: Callable[[str, int], object] = lambda name, pid: None,
    ) -> None:
        """Take care of nothing yet.

        Args:
            output: where the programs' lines go.
            log: where they all go instead; `output` then has those of the programs
                named in `shown`, and our own.
            grace: the seconds a program has to end by itself before it is killed.
            started: told the name and process id of each program that was started,
                also again after a crash.
        """
        self._grace = grace
        self._started = started
        self._logs = Prefixed(output, log=log, shown={*shown, OURS})
        self._running: dict[str, _Running] = {}
        self._waiting: dict[str, tuple[float, float, Program]] = {}  # when, delay
        self._asked: queue.SimpleQueue[tuple[Callable[[], object], Future[object]]]
        self._asked = queue.SimpleQueue()
        self._selector = selectors.DefaultSelector()
        self._bell, self._rope = os.pipe()
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._closing = False
        # Not a daemon: programs end when the thread that started them does.
        self._thread = threading.Thread(target=self._loop, name="supervisor")

    def __enter__(self) -> Self:
        """For the main thread: SIGTERM and SIGHUP leave the context as Ctrl-C does."""
        self._before = {which: signal.signal(which, _leave) for which in _ENDINGS}
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        before = self._before | {signal.SIGINT: signal.getsignal(signal.SIGINT)}
        for which in before:
            signal.signal(which, self._hurry)
        self._ask(self._close)
        self._thread.join()
        for which, handler in before.items():
            signal.signal(which, handler)
        self._selector.close()
        os.close(self._bell)
        os.close(self._rope)

    def wait(self) -> None:
        """Wait for the Ctrl-C or signal that leaves the context."""
        threading.Event().wait()

    def _hurry(self, *_: object) -> None:
        """Whoever asks a second time does not want to wait."""
        self._grace = 0

    def start(self, program: Program) -> int:
        """Start `program`; return its process id.

        Raises:
            ValueError: one of that name runs already.
        """
        return self._ask(lambda: self._start(program))

    def stop(self, name: str) -> None:
        """End one program for good."""
        self._ask(lambda: self._end([name]))

    def pid(self, name: str) -> int | None:
        """Return the process id of a program that runs at this moment."""
        running = self._running.get(name)
        return running.process.pid if running else None

    def say(self, text: str) -> None:
        """Write a line of the supervisor's own."""
        self._logs.line(OURS, text)

    def _ask[T](self, what: Callable[[], T]) -> T:
        answer: Future[T] = Future()
        self._asked.put((what, answer))  # type: ignore[arg-type] # any T is an object
        os.write(self._rope, b".")
        return answer.result()

    # -- From here on in the supervisor's own thread --

    def _loop(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(TICK):
                self._answer() if key.fd == self._bell else self._read(key.data)
            for running in list(self._running.values()):
                if running.process.poll() is not None:
                    self._bury(running)
            for when, delay, program in list(self._waiting.values()):
                if time.monotonic() >= when:
                    self._start(program, delay)

    def _answer(self) -> None:
        os.read(self._bell, 1)
        what, answer = self._asked.get()
        try:
            answer.set_result(what())
        except BaseException as error:
            answer.set_exception(error)

    def _start(self, program: Program, delay: float | None = None) -> int:
        if program.name in self._running:
            raise ValueError(f"{program.name} runs already")
        self._waiting.pop(program.name, None)
        process = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                str(CHILD),
                str(os.getpid()),
                *program.command,
            ],
            env={**os.environ, "PYTHONUNBUFFERED": "1", **program.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        now = time.monotonic()
        running = _Running(
            program, process, process.stdout, since=now, delay=delay or FIRST_DELAY
        )
        self._running[program.name] = running
        self._started(program.name, process.pid)
        self._selector.register(running.pipe, selectors.EVENT_READ, running)
        return process.pid

    def _read(self, running: _Running) -> bool:
        """Pass on what a program has written. Return whether there was anything."""
        data: bytes | None = running.pipe.read(65536)
        for line in running.lines.feed(data or b""):
            self._logs.line(running.program.name, line)
        if data == b"":  # it closed its output; it need not have ended
            self._selector.unregister(running.pipe)
        return bool(data)

    def _bury(self, running: _Running) -> None:
        """Take leave of a program that has ended, and of all that it started."""
        program, code = running.program, running.process.returncode
        self._forget(running)
        if not program.restart:
            self.say(f"{program.name} has ended ({_how(code)})")
            return
        steady = time.monotonic() - running.since > STEADY
        delay = FIRST_DELAY if steady else running.delay
        self.say(f"{program.name} ended ({_how(code)}); again in {delay:.1f} s")
        when, longer = time.monotonic() + delay, min(2 * delay, LAST_DELAY)
        self._waiting[program.name] = when, longer, program

    def _forget(self, running: _Running) -> None:
        _signal(running, signal.SIGKILL)
        while running.pipe in self._selector.get_map() and self._read(running):
            pass
        if running.pipe in self._selector.get_map():
            self._selector.unregister(running.pipe)
        for line in running.lines.finish():
            self._logs.line(running.program.name, line)
        running.pipe.close()
        del self._running[running.program.name]

    def _close(self) -> None:
        self._closing = True
        self._waiting.clear()
        self._end(list(self._running))

    def _end(self, names: list[str]) -> None:
        """Ask programs to end, the last one first; kill what has not by then."""
        for name in names:
            self._waiting.pop(name, None)
        ending = [self._running[name] for name in names if name in self._running]
        for running in reversed(ending):
            _signal(running, signal.SIGTERM)
        self._selector.unregister(self._bell)
        begun = time.monotonic()
        while ending and time.monotonic() - begun < self._grace:
            ending = self._still_ending(ending)
        self._selector.register(self._bell, selectors.EVENT_READ)
        for running in ending:
            self.say(f"{running.program.name} does not end and is killed")
            _signal(running, signal.SIGKILL)
            running.process.wait()
            self._forget(running)

    def _still_ending(self, ending: list[_Running]) -> list[_Running]:
        for key, _ in self._selector.select(TICK):
            self._read(key.data)
        for running in ending:
            if running.process.poll() is not None:
                self._forget(running)
        return [running for running in ending if running.process.returncode is None]


def _signal(running: _Running, which: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # nobody is left in it
        os.killpg(running.process.pid, which)


def _leave(which: int, _: object) -> None:
    raise SystemExit(128 + which)


def _how(code: int) -> str:
    return f"exit {code}" if code >= 0 else signal.Signals(-code).name
