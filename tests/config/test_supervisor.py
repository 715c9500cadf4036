"""Several programs run as one, and end as one."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.embedded import supervisor
from config.embedded.prefixed import MOST, Lines, Prefixed
from config.embedded.supervisor import Program, Supervisor

pytestmark = pytest.mark.usefixtures("stoppable")

# Starts a grandchild that ignores SIGTERM, tells both process ids, and waits.
FAMILY = """
import os, signal, subprocess, sys, time
wait = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", wait])
print("family", os.getpid(), child.pid, flush=True)
time.sleep(600)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
"""
DRIVER = f"""
import sys
from config.embedded.supervisor import Program, Supervisor
with Supervisor(output=sys.stdout) as them:
    for name in ("one", "two"):
        command = [sys.executable, "-c", {FAMILY!r}]
        them.start(Program(name=name, command=command))
    them.wait()
"""


def python(name: str, script: str, *, restart: bool = False) -> Program:
    command = [sys.executable, "-c", script]
    return Program(name=name, command=command, restart=restart)


def eventually(condition: Callable[[], object], *, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.02)


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"  # an orphan that nobody reaps has ended too


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def them(output: io.StringIO) -> Iterator[Supervisor]:
    with Supervisor(output=output, grace=1) as started:
        yield started


@pytest.fixture
def driver() -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", DRIVER]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as started:
        yield started
        started.kill()


def families(driver: "subprocess.Popen[str]") -> list[int]:
    """Return the four process ids that two families tell."""
    assert driver.stdout is not None
    pids: list[int] = []
    while len(pids) < 4:
        line = driver.stdout.readline()
        assert line, "the driver ended"
        if "family" in line:
            pids += map(int, line.split("family")[1].split())
    return pids


def test_lines_are_whole_and_marked(them: Supervisor, output: io.StringIO) -> None:
    half = "import sys, time; sys.stdout.write('half'); sys.stdout.flush(); "
    them.start(python("halves", half + "time.sleep(0.3); print(' and half')"))
    them.start(python("hostile", r"print('\x1b[2J red \r\x07'); print('end', end='')"))
    eventually(lambda: output.getvalue().count("has ended") == 2)
    written = output.getvalue().splitlines()
    assert "halves     │ half and half" in written
    assert r"hostile    │ \x1b[2J red \x0d\x07" in written
    assert "hostile    │ end" in written


def test_with_a_log_only_what_is_worth_watching_is_shown() -> None:
    output, log = io.StringIO(), io.StringIO()
    lines = Prefixed(output, log=log, shown={"agent"})
    lines.line("worker", "a sweep")
    lines.line("agent", "asked")
    assert output.getvalue() == "agent      │ asked\n"
    assert log.getvalue() == "worker     │ a sweep\nagent      │ asked\n"


def test_colours_are_for_terminals_alone() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal, file = Terminal(), io.StringIO()
    for output in (terminal, file):
        logs = Prefixed(output)
        logs.line("one", "text")
        logs.line("two", "text")
    first, second = terminal.getvalue().splitlines()
    assert first.split("m", 1)[0] != second.split("m", 1)[0]
    assert "\x1b" not in file.getvalue()


def test_a_line_that_never_ends_is_cut() -> None:
    lines, seen = Lines(), []
    for _ in range(100):
        seen += lines.feed(b"x" * 1000)
    assert seen
    assert max(map(len, seen)) <= MOST + 1000
    assert sum(map(len, [*seen, *lines.finish()])) == 100_000


def test_what_crashes_starts_again(them: Supervisor, output: io.StringIO) -> None:
    first = them.start(python("web", FAMILY, restart=True))
    eventually(lambda: "family" in output.getvalue())
    grandchild = int(output.getvalue().split("family")[1].split()[1])
    os.kill(first, signal.SIGKILL)
    eventually(lambda: them.pid("web") not in (first, None))
    assert "web ended (SIGKILL); again in 0.5 s" in output.getvalue()
    # What the first one had started would still hold its port.
    eventually(lambda: not lives(grandchild))


def test_what_crashes_at_once_is_tried_ever_more_rarely(
    them: Supervisor, output: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "FIRST_DELAY", 0.05)
    them.start(Program(name="gone", command=["/no/such/program"]))
    eventually(lambda: output.getvalue().count("again in") >= 3)
    text = output.getvalue()
    assert "gone       │ /no/such/program: No such file or directory" in text
    delays = [float(part.split()[0]) for part in text.split("again in ")[1:]]
    assert delays == sorted(delays)
    assert delays[-1] > delays[0]


def test_what_is_meant_to_end_is_left_alone(
    them: Supervisor, output: io.StringIO
) -> None:
    them.start(python("agent", "raise SystemExit(3)"))
    eventually(lambda: "agent has ended (exit 3)" in output.getvalue())
    assert them.pid("agent") is None
    assert "again in" not in output.getvalue()


def test_one_can_be_stopped_and_started(them: Supervisor) -> None:
    other = them.start(python("other", FAMILY, restart=True))
    first = them.start(python("one", FAMILY, restart=True))
    with pytest.raises(ValueError, match="one runs already"):
        them.start(python("one", FAMILY))
    them.stop("one")
    assert not lives(first)
    assert them.pid("one") is None
    assert them.start(python("one", FAMILY)) != first
    assert lives(other)


def test_what_does_not_end_is_killed(output: io.StringIO) -> None:
    with Supervisor(output=output, grace=0.3) as them:
        pid = them.start(python("stubborn", STUBBORN))
        eventually(lambda: "deaf" in output.getvalue())
    assert not lives(pid)
    assert "stubborn does not end and is killed" in output.getvalue()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_all_of_them_end_with_the_supervisor(
    driver: "subprocess.Popen[str]", how: signal.Signals
) -> None:
    pids = families(driver)
    driver.send_signal(how)
    driver.wait(timeout=20)
    assert not any(map(lives, pids))


@pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux kernel")
def test_programs_end_when_the_supervisor_is_killed(
    driver: "subprocess.Popen[str]",
) -> None:
    leader, child, other, other_child = families(driver)
    driver.kill()
    eventually(lambda: not lives(leader) and not lives(other))
    for orphan in (child, other_child):  # deaf on purpose; nobody is left to kill them
        os.kill(orphan, signal.SIGKILL)


def test_a_second_ctrl_c_does_not_wait() -> None:
    script = DRIVER.replace(FAMILY.__repr__(), repr(STUBBORN)).replace(
        "output=sys.stdout", "output=sys.stdout, grace=600"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout is not None
        assert "deaf" in driver.stdout.readline() + driver.stdout.readline()
        driver.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            driver.wait(timeout=1)
        driver.send_signal(signal.SIGINT)
        driver.wait(timeout=20)
