"""`python -m tests.machine.fuzz`: several walks at once, and what they came to.

Each lane is a process with an installation of its own and seeds of its own. The exit
status is 1 if a lane found a violation; its seed finds it again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

BASE_DIR: Final = Path(__file__).resolve().parents[2]
APART: Final = 100_000  # seeds between two lanes
TEST: Final = "tests/machine/test_fuzz.py"
PYTEST: Final = (
    *(sys.executable, "-m", "pytest", "-q", "-m", "long"),
    *("--tb=short", "--show-capture=no"),
)


@dataclass
class Lane:
    """One process, what it wrote, and how far it says it has come."""

    process: subprocess.Popen[bytes]
    output: IO[bytes]
    report: Path
    last: dict[str, Any] = field(default_factory=dict)

    def read(self) -> dict[str, Any]:
        if self.report.exists():
            self.last = json.loads(self.report.read_text())
        return self.last


def main() -> int:
    options = _options()
    folder = BASE_DIR / "var" / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    lanes = [
        _start(folder, number, options.seed + number * APART, options.seconds)
        for number in range(options.lanes)
    ]
    console = Console()
    try:
        _wait(console, lanes, options.seconds)
    finally:
        for lane in lanes:
            lane.process.terminate()
            lane.process.wait()
    return _tell(console, lanes, options.seed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.machine.fuzz")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if options.seed is None:
        options.seed = time.time_ns() % APART
    return options


def _start(folder: Path, number: int, seed: int, seconds: int) -> Lane:
    report, log = folder / f"lane-{number}.json", folder / f"lane-{number}.log"
    report.unlink(missing_ok=True)
    told = {"FUZZ_SECONDS": str(seconds), "FUZZ_SEED": str(seed)}
    output = log.open("w+b")
    process = subprocess.Popen(
        [*PYTEST, TEST],
        cwd=BASE_DIR,
        env={**os.environ, **told, "FUZZ_REPORT": str(report)},
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    return Lane(process, output, report)


def _wait(console: Console, lanes: list[Lane], seconds: int) -> None:
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=seconds)
        while any(lane.process.poll() is None for lane in lanes):
            said = [lane.read() for lane in lanes]
            done = min(one.get("seconds", 0) for one in said)
            found = sum(one.get("interleavings", 0) for one in said)
            progress.update(task, completed=done, description=f"{found} interleavings")
            if any(lane.process.poll() for lane in lanes):
                return  # one violation is enough
            time.sleep(0.5)


def _tell(console: Console, lanes: list[Lane], seed: int) -> int:
    said = [lane.read() for lane in lanes]
    failed = [lane for lane in lanes if lane.process.returncode not in {0, -15}]
    outcomes: Counter[str] = Counter()
    for one in said:
        outcomes.update(one.get("outcomes", {}))
    table = Table("times", "what came of a step", box=None)
    for outcome, times in outcomes.most_common():
        table.add_row(str(times), outcome)
    console.print(table)
    totals = {
        name: sum(one.get(name, 0) for one in said)
        for name in ("interleavings", "episodes", "steps")
    }
    counts = ", ".join(f"{number} {name}" for name, number in totals.items())
    for lane in failed:
        lane.output.seek(0)
        console.print(lane.output.read().decode(), markup=False, highlight=False)
        console.print(f"again: make fuzz-state SEED={lane.read().get('seed')} LANES=1")
    console.print(f"seed {seed}: {counts}, {len(failed)} violations", highlight=False)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
