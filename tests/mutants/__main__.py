"""`make mutants`: undo one guard at a time, and see that a test notices.

Each mutant is made in a copy of the source, which shares this environment. First all
named tests must pass there unchanged: a test that fails anyway notices nothing. The exit
status is 1 if a mutant survives, if its text is not in the source any more (or not once),
or if it does not even load.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

BASE_DIR: Final = Path(__file__).resolve().parents[2]
PLACE: Final = BASE_DIR / "var" / "mutants"
LIST: Final = Path(__file__).with_name("mutants.toml")
PATIENCE: Final = 600  # seconds for one mutant's tests
INVARIANTS: Final = range(1, 13)
AT_LEAST: Final = 2  # mutants for each of them

# What pytest's exit status says of a mutant.
VERDICTS: Final = {0: "survived", 1: "killed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Text of one file that is replaced."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """What is undone, of which invariant, and which tests must notice."""

    name: str
    invariant: int
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]

    @classmethod
    def read(cls, said: dict[str, Any]) -> "Mutant":
        edits = said.get("edit") or [{key: said[key] for key in ("file", "old", "new")}]
        return cls(
            name=said["name"],
            invariant=said["invariant"],
            edits=tuple(Edit(**edit) for edit in edits),
            tests=tuple(said["tests"]),
        )


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one mutant; `output` is pytest's, for those that were not killed."""

    mutant: Mutant
    verdict: str
    seconds: float
    output: str = ""


def read_mutants() -> list[Mutant]:
    """All that are listed."""
    listed = tomllib.loads(LIST.read_text())["mutant"]
    return [Mutant.read(said) for said in listed]


def misplaced(mutant: Mutant, base: Path = BASE_DIR) -> list[str]:
    """Its edits whose text does not stand exactly once in the source."""
    texts = {edit.file: (base / edit.file).read_text() for edit in mutant.edits}
    return [
        f"{mutant.name}: {edit.file} has it {texts[edit.file].count(edit.old)} times"
        for edit in mutant.edits
        if texts[edit.file].count(edit.old) != 1
    ]


def mutated(mutant: Mutant, base: Path = BASE_DIR) -> dict[str, str]:
    """By file, the source with the edits in it."""
    texts = {edit.file: (base / edit.file).read_text() for edit in mutant.edits}
    for edit in mutant.edits:
        texts[edit.file] = texts[edit.file].replace(edit.old, edit.new)
    return texts


def main() -> int:
    options, console = _options(), Console()
    mutants = [one for one in read_mutants() if _is_wanted(one, options)]
    flaws = [flaw for mutant in mutants for flaw in misplaced(mutant)]
    for flaw in flaws:
        console.print(flaw, markup=False, highlight=False)
    if flaws or not mutants:
        return 1
    copy = _copied()
    # In order: pytest 9.1 may have lost a folder's fixtures by the time it comes back to it.
    named = sorted({test for one in mutants for test in one.tests})
    with console.status("all named tests, unchanged"):
        status, output = _test(copy, named)
    if status != 0:
        console.print(output, markup=False, highlight=False)
        console.print("These fail without any mutant.")
        return 1
    results = [_judge(console, copy, mutant) for mutant in mutants]
    return _tell(console, results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--only", default="", help="part of a mutant's name")
    parser.add_argument("--invariant", type=int)
    return parser.parse_args()


def _is_wanted(mutant: Mutant, options: argparse.Namespace) -> bool:
    return options.only in mutant.name and options.invariant in {None, mutant.invariant}


def _copied() -> Path:
    """The source as it is here, committed or not; without what git ignores."""
    copy = PLACE / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=BASE_DIR, check=True, capture_output=True)
    for name in names.stdout.decode().split("\0"):
        if name and (BASE_DIR / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(BASE_DIR / name, copy / name)
    return copy


@contextmanager
def _mutated(copy: Path, mutant: Mutant) -> Iterator[None]:
    kept = {edit.file: (copy / edit.file).read_text() for edit in mutant.edits}
    try:
        for name, text in mutated(mutant, copy).items():
            (copy / name).write_text(text)
        yield
    finally:
        for name, text in kept.items():
            (copy / name).write_text(text)


def _test(copy: Path, tests: Sequence[str]) -> tuple[int, str]:
    """pytest's exit status and output; a hang counts as a failure that was noticed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=short", *tests]
    # No bytecode: an edit within the same second would run as it was before.
    told = {
        "KEYTURN_TEST_DATA_DIR": str(PLACE / "data"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    process = subprocess.Popen(
        [*command, "--show-capture=no", "-p", "no:cacheprovider"],
        cwd=copy,
        env={**os.environ, **told},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        return 1, output
    return process.returncode, output


def _judge(console: Console, copy: Path, mutant: Mutant) -> Result:
    began = time.monotonic()
    with console.status(mutant.name), _mutated(copy, mutant):
        status, output = _test(copy, mutant.tests)
    verdict = VERDICTS.get(status, "does not load")
    seconds = time.monotonic() - began
    console.print(f"{verdict:>13}  {mutant.name}", markup=False, highlight=False)
    return Result(mutant, verdict, seconds, "" if verdict == "killed" else output)


def _tell(console: Console, results: Sequence[Result]) -> int:
    table = Table("invariant", "mutant", "verdict", "seconds", box=None)
    for one in sorted(results, key=lambda one: one.mutant.invariant):
        row = (str(one.mutant.invariant), one.mutant.name, one.verdict)
        table.add_row(*row, f"{one.seconds:.0f}")
    console.print(table)
    alive = [one for one in results if one.verdict != "killed"]
    for one in alive:
        console.print(f"\n{one.mutant.name}: {one.verdict}", markup=False)
        console.print(one.output[-3_000:], markup=False, highlight=False)
    killed = len(results) - len(alive)
    console.print(f"{len(results)} mutants, {killed} killed", highlight=False)
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
