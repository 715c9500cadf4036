"""Many programs' output on one terminal: each line whole, and marked by its source."""

import threading
from collections.abc import Collection
from itertools import cycle
from typing import Final, Protocol, TextIO

MOST: Final = 4096  # characters of a line
_COLOURS: Final = ("36", "32", "35", "34", "33", "96", "92", "95")
_CONTROL: Final = {
    code: f"\\x{code:02x}" for code in (*range(9), *range(10, 32), *range(127, 160))
}


class Output(Protocol):
    """Where lines are written to: a terminal, a file, or what stands before one."""

    def write(self, text: str, /) -> int: ...
    def flush(self) -> None: ...
    def isatty(self) -> bool: ...


class Prefixed:
    """A place for lines. Several threads may write to it.

    With a `log`, all lines go there, and only those of the programs in `shown` to
    `output` as well.
    """

    def __init__(
        self,
        output: Output,
        *,
        width: int = 10,
        log: TextIO | None = None,
        shown: Collection[str] = (),
    ) -> None:
        self._output = output
        self._log = log
        self._shown = shown
        self._width = width
        self._colours = cycle(_COLOURS) if output.isatty() else cycle([""])
        self._marks: dict[str, str] = {}
        self._lock = threading.Lock()

    def line(self, name: str, text: str) -> None:
        """Write one line of `name`'s, with what could drive the terminal made visible.

        A blank one says nothing beside those of others, and is left out.
        """
        if not text.strip():
            return
        shown = text[:MOST].translate(_CONTROL) + ("…" if len(text) > MOST else "")
        with self._lock:
            if self._log is not None:
                _write(self._log, f"{name:<{self._width}} │ {shown}\n")
            if self._log is None or name in self._shown:
                _write(self._output, f"{self._mark(name)} {shown}\n")

    def _mark(self, name: str) -> str:
        if name not in self._marks:
            colour, plain = next(self._colours), f"{name:<{self._width}} │"
            self._marks[name] = f"\x1b[{colour}m{plain}\x1b[0m" if colour else plain
        return self._marks[name]


def _write(output: Output, line: str) -> None:
    try:
        output.write(line)
        output.flush()
    except BrokenPipeError:  # nobody reads any more; the work goes on
        pass


class Lines:
    """Bytes in, whole lines out; what never ends a line is cut where it gets too long."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that `data` completes."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MOST:
            whole, self._rest = [*whole, self._rest], b""
        return [line.rstrip(b"\r").decode(errors="backslashreplace") for line in whole]

    def finish(self) -> list[str]:
        """Return what stood after the last line break."""
        return self.feed(b"\n") if self._rest else []
